package haproxy

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// told is a HAProxy that is told each change at its runtime API (Management Guide,
// section 9.3: "add server", "set server").
type told struct{ *instance }

// Update adds what is new, and puts what has gone into maintenance: it then gets no
// request any more. It stays there until its address returns.
func (t *told) Update(ctx context.Context, backends []proxy.Backend) error {
	servers, err := t.runtime.servers(ctx, "")
	if err != nil {
		return err
	}
	wanted := map[netip.Addr]bool{}
	for _, b := range backends {
		wanted[b.Address] = true
	}
	known := map[netip.Addr]bool{}
	for _, s := range servers {
		known[s.address] = true
		if err := t.change(ctx, s, wanted[s.address]); err != nil {
			return err
		}
	}
	for _, b := range backends {
		if !known[b.Address] {
			if err := t.add(ctx, b.Address); err != nil {
				return err
			}
		}
	}
	return nil
}

// change lets a server that is there serve, or not.
func (t *told) change(ctx context.Context, s server, wanted bool) error {
	if s.serves == wanted {
		return nil
	}
	state := "maint"
	if wanted {
		state = "ready"
	}
	return t.command(ctx, "set server "+section+"/"+s.address.String()+" state "+state)
}

func (t *told) add(ctx context.Context, address netip.Addr) error {
	name := section + "/" + address.String()
	answer, err := t.runtime.ask(ctx, fmt.Sprintf("add server %s %s:%d; enable server %s", name, address, proxy.BackendPort, name))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(answer, "New server registered.") {
		return fmt.Errorf("haproxy does not add server %s: %s", address, strings.TrimSpace(answer))
	}
	return nil
}

// command sends one that answers nothing when it is done.
func (t *told) command(ctx context.Context, command string) error {
	answer, err := t.runtime.ask(ctx, command)
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != "" {
		return fmt.Errorf("haproxy answers %q: %s", command, answer)
	}
	return nil
}

// Belief implements [proxy.Proxy]; the only worker knows it all.
func (t *told) Belief(ctx context.Context) (proxy.Belief, error) {
	servers, err := t.runtime.servers(ctx, "")
	if err != nil {
		return proxy.Belief{}, err
	}
	addresses := serving(servers)
	return proxy.Belief{All: addresses, Some: addresses}, nil
}
