package peer

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Limits of finding peers.
const (
	lookupTimeout = time.Second      // of all names together
	foundAge      = 3 * time.Second  // how long addresses are believed
	stillAge      = 10 * time.Second // how long, while they are looked up again
	maxPeers      = 256              // that one question goes to
	downTime      = 5 * time.Second  // how long a peer that answered too late is left alone
)

// finder knows the addresses of the other replicas.
type finder struct {
	peers  []string // HOST:PORT; a name has several addresses
	self   netip.AddrPort
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	log    *slog.Logger

	mu      sync.Mutex // never held while names are looked up
	found   []netip.AddrPort
	at      time.Time
	looking chan struct{} // closed when the lookup under way ends; nil without one
	down    map[netip.AddrPort]time.Time

	// Of the lookup under way: there is one at most.
	last  map[string][]netip.Addr // by host, as last looked up
	wrong map[string]string       // what was last said of a host
}

// others returns the peers to ask now, each once and sorted, without this replica and
// those that are down. Names are looked up if the last time is long ago; one that cannot
// be has the addresses that it had.
func (f *finder) others(ctx context.Context) []netip.AddrPort {
	f.refresh(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	up := slices.DeleteFunc(slices.Clone(f.found), func(a netip.AddrPort) bool {
		until, down := f.down[a]
		return down && time.Now().Before(until)
	})
	return up[:min(len(up), maxPeers)]
}

// refresh looks names up if it is time to, unless another caller does. What was found
// last serves meanwhile; if that is too old, the caller waits for the other one.
func (f *finder) refresh(ctx context.Context) {
	f.mu.Lock()
	age, looking := time.Since(f.at), f.looking
	if age >= foundAge && looking == nil {
		f.looking = make(chan struct{})
		f.mu.Unlock()
		f.look(ctx)
		return
	}
	f.mu.Unlock()
	if looking == nil || age < stillAge {
		return
	}
	select {
	case <-looking:
	case <-ctx.Done():
	}
}

// look looks all names up. The caller has made f.looking.
func (f *finder) look(ctx context.Context) {
	found := f.found // nobody else writes it now
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(f.looking)
		f.found, f.at, f.looking = found, time.Now(), nil
	}()
	found = f.find(ctx)
}

// leave lets others pass over a peer that keeps askers waiting.
func (f *finder) leave(a netip.AddrPort) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for known, until := range f.down {
		if time.Now().After(until) {
			delete(f.down, known)
		}
	}
	f.down[a] = time.Now().Add(downTime)
}

func (f *finder) find(ctx context.Context) []netip.AddrPort {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	self := f.own()
	var found []netip.AddrPort
	for _, peer := range f.peers {
		host, port, _ := net.SplitHostPort(peer)
		n, _ := strconv.ParseUint(port, 10, 16)
		for _, ip := range f.addresses(ctx, host) {
			if a := netip.AddrPortFrom(ip.Unmap(), uint16(n)); !slices.Contains(self, a) {
				found = append(found, a)
			}
		}
	}
	slices.SortFunc(found, netip.AddrPort.Compare)
	return slices.Compact(found)
}

// addresses of a name, as last known if it cannot be looked up now.
func (f *finder) addresses(ctx context.Context, host string) []netip.Addr {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}
	}
	all, err := f.lookup(ctx, host)
	if err == nil {
		f.last[host], f.wrong[host] = all, ""
		return all
	}
	if f.wrong[host] != err.Error() {
		f.wrong[host] = err.Error()
		f.log.Warn("cancel peers cannot be looked up: those found last are asked", observe.KeyAddress, host, observe.KeyError, err, observe.KeyTotal, len(f.last[host]))
	}
	return f.last[host]
}

// own are the addresses at which this replica would ask itself. That would do no harm,
// and no good.
func (f *finder) own() []netip.AddrPort {
	port := f.self.Port()
	if ip := f.self.Addr(); !ip.IsUnspecified() {
		return []netip.AddrPort{netip.AddrPortFrom(ip.Unmap(), port)}
	}
	var own []netip.AddrPort
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, netip.AddrPortFrom(prefix.Addr().Unmap(), port))
		}
	}
	return own
}
