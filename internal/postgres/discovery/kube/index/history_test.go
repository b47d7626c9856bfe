package index_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

// world is what the API holds, and an index that is told of it as a watch would.
type world struct {
	services map[types.NamespacedName]*core_v1.Service
	slices   map[types.NamespacedName]*discovery_v1.EndpointSlice
	index    *index.Index
	fetches  map[types.NamespacedName][]*discovery_v1.EndpointSlice // asked, with the answer, which is still on its way
	used     map[discovery.Target]bool                              // sessions are there
}

func newWorld() *world {
	w := &world{
		services: map[types.NamespacedName]*core_v1.Service{}, slices: map[types.NamespacedName]*discovery_v1.EndpointSlice{},
		index: index.New(options), fetches: map[types.NamespacedName][]*discovery_v1.EndpointSlice{}, used: map[discovery.Target]bool{},
	}
	w.index.Synced()
	return w
}

func name(o meta_v1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// drawService and drawSlice make objects that meet each other often.
func drawService(t *rapid.T) *core_v1.Service {
	s := service(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "service"), rapid.IntRange(1, 2).Draw(t, "age"))
	s.Namespace = rapid.SampledFrom([]string{"shop", "zoo"}).Draw(t, "namespace")
	s.Labels["xdatabase-proxy-deployment-id"] = rapid.SampledFrom([]string{"orders", "Orders", "a.b", ""}).Draw(t, "deployment")
	for _, label := range []string{"pooled", "tls-passthrough"} {
		if value := rapid.SampledFrom([]string{"", "true", "false", "oops"}).Draw(t, label); value != "" {
			s.Labels["xdatabase-proxy-"+label] = value
		}
	}
	if port := rapid.SampledFrom([]string{"", "5432", "6432", "x"}).Draw(t, "port"); port != "" {
		s.Labels["xdatabase-proxy-destination-port"] = port
	}
	if rapid.Bool().Draw(t, "two ports") {
		s.Spec.Ports = append(s.Spec.Ports, core_v1.ServicePort{Name: "pool", Port: 6432})
	}
	return s
}

func drawSlice(t *rapid.T) *discovery_v1.EndpointSlice {
	endpoint := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "127.0.0.1"}).Draw(t, "address") +
			rapid.SampledFrom([]string{"", "!", "†"}).Draw(t, "condition")
	})
	s := slice(
		rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "slice"),
		rapid.SampledFrom([]string{"a", "b", "c", "other"}).Draw(t, "of"),
		rapid.SliceOfN(endpoint, 0, 4).Draw(t, "endpoints")...)
	s.Namespace = rapid.SampledFrom([]string{"shop", "zoo"}).Draw(t, "namespace")
	if rapid.Bool().Draw(t, "pool") {
		s.Ports = append(s.Ports, discovery_v1.EndpointPort{Name: new("pool"), Port: new(int32(7000))})
	}
	return s
}

// step is one thing that happens.
func (w *world) step(t *rapid.T) index.Effects {
	switch rapid.SampledFrom([]string{"service", "slice", "slice", "no service", "no slice", "fetched", "services", "slices"}).Draw(t, "step") {
	case "service":
		s := drawService(t)
		w.services[name(s)] = s
		return w.index.SetService(s)
	case "slice":
		s := drawSlice(t)
		if old, ok := w.slices[name(s)]; ok && old.Labels[discovery_v1.LabelServiceName] != s.Labels[discovery_v1.LabelServiceName] {
			s.Labels = old.Labels // a slice that changes hands is deleted and made anew
		}
		w.slices[name(s)] = s
		return w.index.SetSlice(s)
	case "no service":
		s := drawService(t)
		delete(w.services, name(s))
		return w.index.RemoveService(s)
	case "no slice":
		s := drawSlice(t)
		if old, ok := w.slices[name(s)]; ok {
			s = old
		}
		delete(w.slices, name(s))
		return w.index.RemoveSlice(s)
	case "fetched":
		return w.answer(t)
	case "services": // the watch failed, and lists again
		w.services = without(t, w.services)
		return w.index.ReplaceServices("", slices.Collect(maps.Values(w.services)))
	default:
		w.slices = without(t, w.slices)
		return w.index.ReplaceSlices("", slices.Collect(maps.Values(w.slices)))
	}
}

// without loses one of the objects, which was deleted while the watch was down.
func without[T any](t *rapid.T, all map[types.NamespacedName]T) map[types.NamespacedName]T {
	lost := rapid.SampledFrom([]string{"a", "1", "none"}).Draw(t, "lost")
	all = maps.Clone(all)
	delete(all, types.NamespacedName{Namespace: "shop", Name: lost})
	return all
}

// answer lets one fetch arrive.
func (w *world) answer(t *rapid.T) index.Effects {
	asked := slices.SortedFunc(maps.Keys(w.fetches), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	if len(asked) == 0 {
		return index.Effects{}
	}
	service := rapid.SampledFrom(asked).Draw(t, "fetch")
	all := w.fetches[service]
	delete(w.fetches, service)
	return w.index.Fetched(service, all)
}

// sent is what the API answers now to a fetch.
func (w *world) sent(service types.NamespacedName) (all []*discovery_v1.EndpointSlice) {
	for name, s := range w.slices {
		if name.Namespace == service.Namespace && s.Labels[discovery_v1.LabelServiceName] == service.Name {
			all = append(all, s)
		}
	}
	return all
}

// take notes what a step meant, and checks that it said exactly who must leave.
func (w *world) take(t *rapid.T, e index.Effects) {
	for _, service := range e.Fetch {
		w.fetches[service] = w.sent(service)
	}
	told := map[discovery.Target]bool{}
	for _, target := range e.Gone {
		told[target] = true
		if w.index.Serves(target) {
			t.Fatalf("%v is told to be gone, and serves", target)
		}
	}
	for target := range w.used {
		same := func(other discovery.Target) bool {
			return other.Address == target.Address && other.Backend.Name() == target.Backend.Name() && other.Backend.Service == target.Backend.Service
		}
		if !w.index.Serves(target) {
			if !slices.ContainsFunc(e.Gone, same) {
				t.Fatalf("%v is gone, and nobody was told; told %v", target, e.Gone)
			}
			delete(w.used, target)
		}
	}
	for b := range w.index.All() {
		if target, err := w.index.Resolve(b.Deployment, b.Pooled); err == nil {
			w.used[target] = true
		}
	}
}

// Whatever happened in whatever order, the answers are those of an index that was told
// only of what is there at the end, and those that the objects mean; and each change says
// exactly which targets it ends.
func TestAnswersDependOnObjectsNotOnHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.take(t, w.step(t))
		}
		for len(w.fetches) > 0 {
			w.take(t, w.answer(t))
		}
		if got, want := routes(w.index), w.naive(); got != want {
			t.Fatalf("the index says:\n%s\nthe objects mean:\n%s", got, want)
		}
		fresh := w.again(t)
		if got, want := routes(w.index)+rest(w.index), routes(fresh)+rest(fresh); got != want {
			t.Fatalf("after its history:\n%s\nof the same objects:\n%s", got, want)
		}
	})
}

// again is an index that is told of the same objects in another order.
func (w *world) again(t *rapid.T) *index.Index {
	x := index.New(options)
	var objects []meta_v1.Object
	for _, s := range w.services {
		objects = append(objects, s)
	}
	for _, s := range w.slices {
		objects = append(objects, s)
	}
	slices.SortFunc(objects, func(a, b meta_v1.Object) int { return cmp.Compare(fmt.Sprint(name(a)), fmt.Sprint(name(b))) })
	for _, o := range rapid.Permutation(objects).Draw(t, "order") {
		switch o := o.(type) {
		case *core_v1.Service:
			for _, service := range x.SetService(o).Fetch {
				x.Fetched(service, w.sent(service))
			}
		case *discovery_v1.EndpointSlice:
			x.SetSlice(o)
		}
	}
	x.Synced()
	return x
}

// routes are who serves what, and what is dialled.
func routes(x *index.Index) (out string) {
	for b := range x.All() {
		d, _ := x.Describe(b.Deployment, b.Pooled)
		var endpoints []string
		for _, e := range d.Endpoints {
			endpoints = append(endpoints, fmt.Sprint(e.Address, e.Ready))
		}
		dials := map[string]bool{}
		for range 32 {
			if target, err := x.Resolve(b.Deployment, b.Pooled); err == nil {
				dials[target.Address] = true
			}
		}
		out += route(b.Name(), d.Service, d.Losers, endpoints, slices.Sorted(maps.Keys(dials)))
	}
	return out
}

func route(backend, service string, losers, endpoints, dials []string) string {
	return fmt.Sprintf("%s by %s, not %q: lists %q, dials %q\n", backend, service, losers, endpoints, dials)
}

// rest is what else an index says.
func rest(x *index.Index) (out string) {
	for _, p := range x.Problems() {
		out += p.String() + "\n"
	}
	for _, spelled := range []string{"ORDERS", "A.B"} {
		known, _ := x.Known(spelled)
		out += known + "\n"
	}
	return out
}
