package nginx

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// generations are the configurations that nginx was given, and which worker has which.
type generations struct {
	last    int                  // that was made
	handed  int                  // that the master was told to load
	newest  int                  // that has answered
	sets    map[int][]netip.Addr // sorted
	workers map[int]int          // process id to generation
}

func newGenerations() generations {
	return generations{sets: map[int][]netip.Addr{}, workers: map[int]int{}}
}

// begin makes the next generation.
func (g *generations) begin(backends []proxy.Backend) int {
	set := make([]netip.Addr, len(backends))
	for i, b := range backends {
		set[i] = b.Address
	}
	slices.SortFunc(set, netip.Addr.Compare)
	g.last++
	g.sets[g.last] = set
	if g.last == 1 {
		g.handed = 1
	}
	return g.last
}

// hand says that workers which appear from now on may have this generation.
func (g *generations) hand(generation int) { g.handed = generation }

// saw takes what answered a new connection and which workers there are, and returns
// the belief. Workers of a generation that has not answered yet do not serve yet.
func (g *generations) saw(answered int, workers []int) proxy.Belief {
	g.newest = max(g.newest, answered)
	known := map[int]int{}
	all, some := g.sets[answered], slices.Clone(g.sets[answered])
	if answered < g.newest { // both take new connections for a moment
		all = slices.DeleteFunc(slices.Clone(all), func(a netip.Addr) bool { return !slices.Contains(g.sets[g.newest], a) })
	}
	for _, pid := range workers {
		generation, seen := g.workers[pid]
		if !seen {
			generation = g.handed
		}
		known[pid] = generation
		if generation <= g.newest {
			some = append(some, g.sets[generation]...)
		}
	}
	g.workers = known
	slices.SortFunc(some, netip.Addr.Compare)
	return proxy.Belief{All: all, Some: slices.Compact(some)}
}

// Belief implements [proxy.Proxy].
func (n *nginx) Belief(ctx context.Context) (proxy.Belief, error) {
	answered, err := n.ask(ctx)
	if err != nil {
		return proxy.Belief{}, err
	}
	workers, err := children(n.process.PID())
	if err != nil {
		return proxy.Belief{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.saw(answered, workers), nil
}

// ask returns the generation that answers a new connection.
func (n *nginx) ask(ctx context.Context) (int, error) {
	status, body, err := proxy.Get(ctx, proxy.Fresh(""), "http://"+proxy.ListenAddress+generationPath)
	if err != nil {
		return 0, err
	}
	generation, err := strconv.Atoi(string(body))
	if status != http.StatusOK || err != nil {
		return 0, fmt.Errorf("something else than this nginx answers at %s, with status %d", proxy.ListenAddress, status)
	}
	return generation, nil
}

// children returns the children of a process, from /proc/PID/task/PID/children (proc(5)).
func children(pid int) ([]int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, fmt.Errorf("find nginx's workers: %w", err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("find nginx's workers: %w", err)
		}
		pids = append(pids, child)
	}
	return pids, nil
}
