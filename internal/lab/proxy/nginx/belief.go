package nginx

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// answer is what the worker that takes a connection says of itself.
type answer struct{ pid, generation int }

func (a answer) is(w worker) bool { return w.pid == a.pid }

// ask opens a connection, as a client does.
func (n *nginx) ask(ctx context.Context) (answer, error) {
	status, body, err := proxy.Get(ctx, n.client, "http://"+proxy.ListenAddress+generationPath)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if _, err := fmt.Sscanf(string(body), "%d %d", &a.pid, &a.generation); err != nil || status != http.StatusOK {
		first, _, _ := strings.Cut(string(body), "\n")
		return answer{}, fmt.Errorf("%s answers %d with %q, and not with the generation of nginx", proxy.ListenAddress, status, first)
	}
	return a, nil
}

// Belief implements [proxy.Proxy]. A connection shows that nginx answers, and that what
// the kernel says of its workers is right.
func (n *nginx) Belief(ctx context.Context) (proxy.Belief, error) {
	a, err := n.ask(ctx)
	if err != nil {
		return proxy.Belief{}, err
	}
	family, err := n.family.look()
	if err != nil {
		return proxy.Belief{}, err
	}
	if i := slices.IndexFunc(family, a.is); i >= 0 && family[i].generation != a.generation {
		return proxy.Belief{}, fmt.Errorf("nginx's worker %d answers with generation %d and has the log of generation %d open",
			a.pid, a.generation, family[i].generation)
	}
	return n.believed(a, family), nil
}

// believed sums up what workers believe. When none takes connections, because all have
// crashed, the one that answered did so last.
func (n *nginx) believed(a answer, family []worker) proxy.Belief {
	n.mu.Lock()
	defer n.mu.Unlock()
	var take, serve []int
	for _, w := range family {
		serve = append(serve, w.generation)
		if !w.leaving {
			take = append(take, w.generation)
		}
	}
	if len(take) == 0 {
		take, serve = []int{a.generation}, append(serve, a.generation)
	}
	n.forget(slices.Min(serve))
	return proxy.Belief{All: n.shared(take), Some: n.union(serve)}
}

// shared are the backends of all these generations.
func (n *nginx) shared(generations []int) []netip.Addr {
	all := slices.Clone(n.backends[generations[0]])
	for _, g := range generations[1:] {
		all = slices.DeleteFunc(all, func(a netip.Addr) bool {
			_, found := slices.BinarySearchFunc(n.backends[g], a, netip.Addr.Compare)
			return !found
		})
	}
	return all
}

// union are the backends of any of these generations.
func (n *nginx) union(generations []int) []netip.Addr {
	var some []netip.Addr
	slices.Sort(generations)
	for _, g := range slices.Compact(generations) {
		some = append(some, n.backends[g]...)
	}
	slices.SortFunc(some, netip.Addr.Compare)
	return slices.Compact(some)
}

// forget drops generations that nobody runs any more.
func (n *nginx) forget(before int) {
	for g := range n.backends {
		if g < before {
			delete(n.backends, g)
		}
	}
}
