package derive_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// route, service and listener stand for the objects of a gateway: a route belongs to one of many
// hosts, refers to one of many services, and all routes refer to the service "shared".
type route struct {
	Host, Service string
	Revision      int
}

type listener struct{ Suffix string }

type virtualHost struct {
	Host   string
	Routes []string
}

// gateway is a graph in the shape of a gateway's.
type gateway struct {
	graph    *derive.Graph
	attached derive.Collection[route]
	tables   derive.Collection[virtualHost]
	byHost   derive.Index[route]
	clusters derive.Collection[string]
}

func newGateway() gateway {
	g := derive.New()
	routes := derive.Input[*route](g, "route")
	services := derive.Input[int](g, "service")
	listeners := derive.Input[listener](g, "listener")
	attached := derive.Map(g, "attached", routes, func(c *derive.Ctx, key string, r *route) (route, bool) {
		derive.Get(c, services, "shared")
		_, found := derive.Get(c, services, r.Service)
		return *r, found && len(derive.Prefix(c, listeners, "edge/")) > 0
	})
	byHost := derive.Group(g, "by-host", attached, func(_ string, r route) []string { return []string{r.Host} })
	byService := derive.Group(g, "by-service", attached, func(_ string, r route) []string {
		return []string{r.Service, "shared"}
	})
	tables := derive.Reduce(g, "tables", byHost, func(c *derive.Ctx, host string) (virtualHost, bool) {
		v := virtualHost{Host: host}
		for _, r := range derive.All(c, byHost, host) {
			v.Routes = append(v.Routes, fmt.Sprint(r.Key, r.Value.Revision))
		}
		return v, true
	})
	clusters := derive.Reduce(g, "clusters", byService, func(c *derive.Ctx, service string) (string, bool) {
		endpoints, _ := derive.Get(c, services, service)
		return fmt.Sprint(service, endpoints), derive.Exists(c, byService, service)
	})
	return gateway{g, attached, tables, byHost, clusters}
}

const routesPerHost = 10

func routeKey(i int) store.Key {
	return store.Key{Collection: "route", Name: fmt.Sprintf("shop/r-%06d", i)}
}

func serviceKey(i int) store.Key { return store.Key{Collection: "service", Name: serviceName(i)} }

func serviceName(i int) string { return fmt.Sprintf("shop/s-%06d", i) }

func newRoute(i, revision int) *route {
	return &route{fmt.Sprintf("h-%06d.example", i/routesPerHost), serviceName(i), revision}
}

// routesAndServices is a View of n routes, each with a service of its own.
func routesAndServices(n int) store.View {
	batch := []store.Edit{
		{Collection: "service", Name: "shared", Value: 0},
		{Collection: "listener", Name: "edge/http", Value: listener{"example"}},
	}
	for i := range n {
		batch = append(batch, store.Edit{Key: routeKey(i), Value: newRoute(i, 0)}, store.Edit{Key: serviceKey(i), Value: 0})
	}
	return store.View{}.Apply(batch...)
}

// smallChanges are changes that must cost the same at every size.
var smallChanges = []struct {
	name string
	edit func(revision int) store.Edit
	want derive.Work
}{
	{
		"a route changes",
		func(rev int) store.Edit { return store.Edit{Key: routeKey(42), Value: newRoute(42, rev)} },
		derive.Work{Functions: map[string]int{"attached": 1, "by-host": 1, "by-service": 1, "tables": 1}, Members: 11},
	},
	{
		"a service changes that one route reads, and the route has the same value again",
		func(rev int) store.Edit { return store.Edit{Key: serviceKey(42), Value: rev} },
		derive.Work{Functions: map[string]int{"attached": 1, "clusters": 1}, Members: 1},
	},
	{
		"a route of a new host and service is added and is the last member of a shared bucket",
		func(rev int) store.Edit {
			return store.Edit{Key: routeKey(900_000), Value: &route{"new.example", serviceName(7), rev}}
		},
		derive.Work{Functions: map[string]int{"attached": 1, "by-host": 1, "by-service": 1, "tables": 1}, Members: 2},
	},
	{
		"a value that nobody reads",
		func(rev int) store.Edit {
			return store.Edit{Collection: "secret", Name: "x", Value: rev}
		},
		derive.Work{Functions: map[string]int{}},
	},
}

// TestWorkDependsOnTheChange: the same functions run at every size.
func TestWorkDependsOnTheChange(t *testing.T) {
	for _, n := range []int{300, 3_000, 30_000} {
		l := newGateway()
		view := routesAndServices(n)
		base := l.graph.Eval(derive.State{}, view).State
		for _, change := range smallChanges {
			t.Run(fmt.Sprintf("%d routes/%s", n, change.name), func(t *testing.T) {
				result := l.graph.Eval(base, view.Apply(change.edit(1)))
				if diff := cmp.Diff(change.want, result.Work); diff != "" {
					t.Errorf("work (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestAllocationsDependOnTheChange: what one small change allocates among 30,000
// routes is at most twice that among 300: the trees are that much deeper.
func TestAllocationsDependOnTheChange(t *testing.T) {
	allocations := map[int][]float64{}
	for _, n := range []int{300, 30_000} {
		l := newGateway()
		view := routesAndServices(n)
		base := l.graph.Eval(derive.State{}, view).State
		for _, change := range smallChanges {
			next := view.Apply(change.edit(1))
			allocations[n] = append(allocations[n], testing.AllocsPerRun(10, func() { l.graph.Eval(base, next) }))
		}
	}
	for i, change := range smallChanges {
		if few, many := allocations[300][i], allocations[30_000][i]; many > few*2 {
			t.Errorf("%s: %.0f allocations among 300 and %.0f among 30,000", change.name, few, many)
		}
	}
}

// BenchmarkChange is the wall time of one small change on top of the one before.
func BenchmarkChange(b *testing.B) {
	for _, change := range smallChanges {
		for _, n := range []int{300, 3_000, 30_000} {
			b.Run(fmt.Sprintf("%s/%d", change.name, n), func(b *testing.B) {
				l := newGateway()
				view := routesAndServices(n)
				state := l.graph.Eval(derive.State{}, view).State
				revision := 1
				b.ReportAllocs()
				for b.Loop() {
					revision++
					view = view.Apply(change.edit(revision))
					state = l.graph.Eval(state, view).State
				}
			})
		}
	}
}

// BenchmarkFirstEval is the evaluation of everything; it reports what a State holds
// beside its View.
func BenchmarkFirstEval(b *testing.B) {
	for _, n := range []int{300, 3_000, 30_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := newGateway()
			view := routesAndServices(n)
			before := heap()
			state := l.graph.Eval(derive.State{}, view).State
			held := heap() - before
			b.ReportAllocs()
			for b.Loop() {
				l.graph.Eval(derive.State{}, view)
			}
			b.ReportMetric(float64(held)/float64(n), "held-B/route")
			runtime.KeepAlive(state)
		})
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
