package haproxy

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
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

// Belief asks again while the master restarts itself, as it does at each reload: for
// moments it then answers nobody.
func (r *reloaded) Belief(ctx context.Context) (proxy.Belief, error) {
	tick := time.NewTicker(again)
	defer tick.Stop()
	for {
		belief, err := r.belief(ctx)
		if err == nil {
			return belief, nil
		}
		select {
		case <-ctx.Done():
			return proxy.Belief{}, err
		case <-r.Exited():
			return proxy.Belief{}, r.process.Ended()
		case <-tick.C:
		}
	}
}

// again is the pause before the next question.
const again = 2 * time.Millisecond

// belief asks the worker that took the runtime socket over, which is the one that takes
// new connections, and those that are still there for their old ones.
func (r *reloaded) belief(ctx context.Context) (proxy.Belief, error) {
	servers, err := r.runtime.servers(ctx, "")
	if err != nil {
		return proxy.Belief{}, err
	}
	all := serving(servers)
	some := slices.Clone(all)
	old, err := r.oldWorkers(ctx)
	if err != nil {
		return proxy.Belief{}, err
	}
	for _, pid := range old {
		servers, err := r.master.servers(ctx, "@!"+strconv.Itoa(pid)+" ")
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

// oldWorkers returns the process ids of the workers that the master has replaced.
func (r *reloaded) oldWorkers(ctx context.Context) ([]int, error) {
	answer, err := r.master.ask(ctx, "show proc")
	if err != nil {
		return nil, err
	}
	_, old, found := strings.Cut(answer, "# old workers")
	if !found {
		return nil, nil
	}
	var pids []int
	for line := range strings.Lines(old) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if fields[0] == "#" {
			break // the next section
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, fmt.Errorf("haproxy has an old worker %q: %w", fields[0], err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}
