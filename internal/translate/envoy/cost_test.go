package envoy

import (
	"fmt"
	"maps"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// large is a model with n hosts of two routes each, n backends, and one table.
func large(n int) world {
	hosts := make([]model.VirtualHost, n)
	at := map[string]netip.AddrPort{}
	for i := range hosts {
		name := fmt.Sprintf("b%05d", i)
		at[name] = netip.MustParseAddrPort("10.0.0.1:80")
		hosts[i] = largeHost(i, 1)
	}
	return plain(hosts, at)
}

func largeHost(i int, weight uint32) model.VirtualHost {
	name := fmt.Sprintf("b%05d", i)
	ref := []model.Ref{{Collection: "HTTPRoute", Name: "shop/" + name}}
	return model.VirtualHost{Domain: name + ".example", Table: plainHTTP, Gateway: edge, Origins: ref, Routes: []model.Route{
		{Name: "shop/" + name + "-1", Match: prefix("/api"), Forward: split(
			model.WeightedBackend{Cluster: backendID(name), Weight: weight}, model.WeightedBackend{Cluster: backendID("b00000"), Weight: 1}), Origins: ref},
		{Name: "shop/" + name + "-2", Match: prefix("/"), Forward: to(name), Origins: ref},
	}}
}

// withHost returns the edit that changes one host of the table.
func (w world) withHost(i int, weight uint32) store.Edit {
	h := largeHost(i, weight)
	return store.Edit{Collection: inHosts, Name: hostKey(h), Value: h}
}

func (w world) withEndpoint(i int, port uint16) store.Edit {
	e := w.Endpoints[i]
	e.Addresses = []model.Endpoint{{Address: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port)}}
	return store.Edit{Collection: inEndpoints, Name: string(e.Cluster), Value: e}
}

// TestWork: what a change runs depends on the change and not on the size of the model.
func TestWork(t *testing.T) {
	whole := map[string]int{"xds hosts": 1, "xds host parts": 1, "xds host parts by table": 1, "xds tables": 1}
	scoped := map[string]int{"xds hosts": 1, "xds host parts": 1}
	for _, n := range []int{30, 300, 3000} {
		for name, want := range map[string]map[string]int{"whole": whole, "scoped": scoped} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				w := large(n)
				w.Tables[0].Scoped = name == "scoped"
				g, outputs := graph(Options{})
				start := store.View{}.Apply(w.edits()...)
				from := g.Eval(derive.State{}, start).State

				route := g.Eval(from, start.Apply(w.withHost(n/2, 7)))
				if diff := cmp.Diff(want, ran(route.Work)); diff != "" {
					t.Errorf("one changed route (-want +got):\n%s", diff)
				}
				if name == "scoped" && route.Work.Members > 0 {
					t.Errorf("one changed route visits %d members", route.Work.Members)
				}
				endpointCosts(t, w, g, outputs, from, start)
			})
		}
	}
}

// endpointCosts: one changed endpoint is one changed resource, and no function.
func endpointCosts(t *testing.T, w world, g *derive.Graph, outputs Outputs, from derive.State, start store.View) {
	t.Helper()
	endpoint := g.Eval(from, start.Apply(w.withEndpoint(len(w.Endpoints)/2, 81)))
	if diff := cmp.Diff(map[string]int{}, ran(endpoint.Work)); diff != "" {
		t.Errorf("one changed endpoint runs functions here:\n%s", diff)
	}
	changed := 0
	for c := range derive.Changes(endpoint.Delta, outputs.Endpoints) {
		changed++
		if c.Old.Resource.Version == c.New.Resource.Version {
			t.Error("the changed endpoints have the version of the old ones")
		}
	}
	if changed != 1 {
		t.Errorf("one changed endpoint changes %d resources", changed)
	}
}

func ran(w derive.Work) map[string]int {
	out := maps.Clone(w.Functions)
	maps.DeleteFunc(out, func(_ string, n int) bool { return n == 0 })
	if out == nil {
		out = map[string]int{}
	}
	return out
}

// TestTableByParts: a table put together from encoded hosts is the table
// encoded in one go, whole or as the rest of one that is looked up by host.
func TestTableByParts(t *testing.T) {
	for _, scoped := range []bool{false, true} {
		w := large(20)
		w.Tables[0].Scoped = scoped
		w.Tables[0].Hosts[3].Domain, w.Tables[0].Hosts[4].Domain = "*.example", "*"
		for _, r := range translate(t, w).resources {
			body, err := Message(r)
			if err != nil {
				t.Fatal(err)
			}
			if whole, err := marshal(body.(message)); err != nil || string(whole) != string(inOneGo(r)) {
				t.Errorf("%s: %d bytes in parts, %d in one go, %v", r.Name, len(r.Body), len(whole), err)
			}
		}
	}
}

func BenchmarkRouteChange(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := large(n)
			g, _ := graph(Options{})
			view := store.View{}.Apply(w.edits()...)
			state := g.Eval(derive.State{}, view).State
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				view = view.Apply(w.withHost(n/2, uint32(i%1000)+2))
				state = g.Eval(state, view).State
			}
		})
	}
}

func BenchmarkTableAssembly(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := large(n)
			fragments := make([]*fragment, n)
			for i, h := range w.Tables[0].Hosts {
				fragments[i] = translateHost(h)
			}
			b.ReportAllocs()
			var size int
			for b.Loop() {
				size = len(assembleTable(w.Tables[0].RouteTable, fragments).Resource.Body)
			}
			b.ReportMetric(float64(size), "bytes/table")
		})
	}
}

func BenchmarkEndpointChange(b *testing.B) {
	e := model.Endpoints{Cluster: "shop/a:80"}
	for i := range 10 {
		e.Addresses = append(e.Addresses, model.Endpoint{Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 80)})
	}
	b.ReportAllocs()
	for b.Loop() {
		translateEndpoints(e)
	}
}

func BenchmarkHost(b *testing.B) {
	h := largeHost(1, 2)
	b.ReportAllocs()
	for b.Loop() {
		translateHost(h)
	}
}

func BenchmarkCold(b *testing.B) {
	w := large(3000)
	g, _ := graph(Options{})
	view := store.View{}.Apply(w.edits()...)
	b.ReportAllocs()
	for b.Loop() {
		g.Eval(derive.State{}, view)
	}
}
