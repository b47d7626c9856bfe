package kube

import (
	"context"
	"sync"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

// namespaceWatch feeds the index from one namespace, or from all.
type namespaceWatch struct {
	services feed[*core_v1.Service]
	slices   feed[*discovery_v1.EndpointSlice]
	known    chan struct{} // closed once the Services are known
}

func (d *Discovery) newWatch(namespace string) *namespaceWatch {
	services, slices := d.state.feed(inNamespace("Services", namespace)), d.state.feed(inNamespace("EndpointSlices", namespace))
	w := &namespaceWatch{known: make(chan struct{})}
	known := sync.OnceFunc(func() { close(w.known) })
	w.services = feed[*core_v1.Service]{
		resource: d.client.services(namespace, index.Selector), state: services,
		sink: sink[*core_v1.Service]{
			set:     func(s *core_v1.Service) { d.apply(d.SetService(s), slices) },
			remove:  func(s *core_v1.Service) { d.apply(d.RemoveService(s), slices) },
			replace: func(all []*core_v1.Service) { d.apply(d.ReplaceServices(namespace, all), slices) },
			strip:   stripService,
			listing: services.begins,
			listed:  func() { d.listed(services); known() },
		},
	}
	w.slices = feed[*discovery_v1.EndpointSlice]{
		resource: d.client.slices(namespace, discovery_v1.LabelServiceName), state: slices,
		sink: sink[*discovery_v1.EndpointSlice]{
			set:     func(s *discovery_v1.EndpointSlice) { d.apply(d.SetSlice(s), slices) },
			remove:  func(s *discovery_v1.EndpointSlice) { d.apply(d.RemoveSlice(s), slices) },
			replace: func(all []*discovery_v1.EndpointSlice) { d.apply(d.ReplaceSlices(namespace, all), slices) },
			strip:   stripSlice,
			listing: slices.begins,
			listed:  func() { d.listed(slices) },
		},
	}
	return w
}

// run watches until ctx ends. Slices are watched once the Services are known: then the
// first list of them is all there is behind these, and none need be fetched.
func (w *namespaceWatch) run(ctx context.Context) {
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() { w.services.run(ctx) })
	select {
	case <-w.known:
		both.Go(func() { w.slices.run(ctx) })
	case <-ctx.Done():
	}
}

func inNamespace(what, namespace string) string {
	if namespace == "" {
		return what
	}
	return what + " in namespace " + namespace
}
