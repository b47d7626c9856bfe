package haproxy

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// reloaded is a HAProxy whose master starts a new worker for each new configuration.
// The old one keeps its connections, and what it believes, until they end.
type reloaded struct {
	*instance
	checked time.Duration
}

// Checked implements [proxy.Checks].
func (r *reloaded) Checked() time.Duration { return r.checked }

// Update checks the new file before it reloads, as controllers do.
func (r *reloaded) Update(ctx context.Context, backends []proxy.Backend) error {
	if err := r.write(backends); err != nil {
		return err
	}
	check := proxy.Command{Name: "haproxy -c", Path: r.options.Program, Args: []string{"-c", "-q", "-f", r.file()}, Noise: noise}
	spent, err := check.Run(ctx)
	r.checked += spent
	if err != nil {
		return err
	}
	return r.process.Signal(unix.SIGUSR2)
}

// Belief implements [proxy.Proxy].
func (r *reloaded) Belief(ctx context.Context) (belief proxy.Belief, err error) {
	err = r.persist(ctx, func(ctx context.Context) (err error) {
		belief, err = r.belief(ctx)
		return err
	})
	return belief, err
}

// belief asks the worker that took the runtime socket over, which is the one that takes
// new connections, and those that are still there for their old ones.
func (r *reloaded) belief(ctx context.Context) (proxy.Belief, error) {
	servers, err := r.runtime.servers(ctx, "")
	if err != nil {
		return proxy.Belief{}, err
	}
	all := serving(servers)
	some := slices.Clone(all)
	old, err := r.master.oldWorkers(ctx)
	if err != nil {
		return proxy.Belief{}, err
	}
	for _, pid := range old {
		servers, err := r.master.servers(ctx, workerPrefix(pid))
		switch {
		case err == nil:
			some = append(some, serving(servers)...)
		case proxy.Alive(pid):
			return proxy.Belief{}, err
		} // one that has ended since then believes nothing
	}
	slices.SortFunc(some, netip.Addr.Compare)
	return proxy.Belief{All: all, Some: slices.Compact(some)}, nil
}
