package index

import (
	"slices"
	"sync"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// Options say what Services may name.
type Options struct {
	// ClusterDomain ends the DNS names of Services, for example "cluster.local".
	ClusterDomain string
	// AllowLocal serves endpoints on loopback, link-local and metadata addresses, and
	// Services of type ExternalName.
	AllowLocal bool
}

// Index is a [discovery.Resolver] of the objects it was told of. Make it with New.
type Index struct {
	options Options

	mu       sync.RWMutex
	synced   bool
	services map[types.NamespacedName]*service
	kept     map[types.NamespacedName]string // slices → the Service in their namespace
	contests map[form]*contest
	spelled  map[string][]string // a name without case → as it is claimed, sorted
	changed  chan struct{}       // nil until somebody asks for it
}

// service is one that is chosen by its labels, and what its slices list.
type service struct {
	name   types.NamespacedName
	claim  claim
	dial   dial // the last that was valid, so that a mistake in a label cuts no session
	slices map[string]*slice
	endpoints
	// fetching tells that there may be slices that the index was not told of, and touched
	// which slices it was told of since then.
	fetching bool
	touched  map[string]bool
}

// form is what a session asks for.
type form struct {
	deployment string
	pooled     bool
}

// New returns an index that knows nothing and is not synced.
func New(o Options) *Index {
	return &Index{
		options:  o,
		services: map[types.NamespacedName]*service{},
		kept:     map[types.NamespacedName]string{},
		contests: map[form]*contest{},
		spelled:  map[string][]string{},
	}
}

// Synced tells that the index knows all there is: from now on a deployment that it does
// not know is unknown.
func (x *Index) Synced() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.synced = true
	x.notify()
}

// Effects are what a change means for others.
type Effects struct {
	// Gone are targets at which sessions must not stay: [discovery.Resolver.Serves] was
	// true for them before.
	Gone []discovery.Target
	// Fetch are Services that were chosen just now, whose slices the index was not told
	// of: tell them with Fetched. They are not ready until then.
	Fetch []types.NamespacedName
	// Told are Services whose problems may have changed.
	Told []types.NamespacedName
}

// SetService adds a Service that the selector chooses, or changes it.
func (x *Index) SetService(s *core_v1.Service) Effects {
	return x.edit(func(e *edit) { e.setService(s) })
}

// RemoveService removes one that was deleted or is not chosen any more.
func (x *Index) RemoveService(s *core_v1.Service) Effects {
	return x.edit(func(e *edit) { e.removeService(nameOf(s)) })
}

// ReplaceServices says which Services there are in a namespace, in all if it is empty.
func (x *Index) ReplaceServices(namespace string, all []*core_v1.Service) Effects {
	return x.edit(func(e *edit) {
		there := make(map[types.NamespacedName]bool, len(all))
		for _, s := range all {
			there[nameOf(s)] = true
			e.setService(s)
		}
		for name := range e.services {
			if within(name, namespace) && !there[name] {
				e.removeService(name)
			}
		}
	})
}

// SetSlice adds or changes a slice. One whose Service is not chosen costs nothing.
func (x *Index) SetSlice(s *discovery_v1.EndpointSlice) Effects {
	return x.edit(func(e *edit) { e.setSlice(s) })
}

// RemoveSlice removes a slice that was deleted.
func (x *Index) RemoveSlice(s *discovery_v1.EndpointSlice) Effects {
	return x.edit(func(e *edit) { e.removeSlice(s) })
}

// ReplaceSlices says which slices there are in a namespace, in all if it is empty. It
// ends the fetches under way: the list knows better.
func (x *Index) ReplaceSlices(namespace string, all []*discovery_v1.EndpointSlice) Effects {
	return x.edit(func(e *edit) {
		there := make(map[types.NamespacedName]bool, len(all))
		for _, s := range all {
			there[nameOf(s)] = true
			e.setSlice(s)
		}
		for name := range e.kept {
			if within(name, namespace) && !there[name] {
				e.drop(name)
			}
		}
		for name, s := range e.services {
			if within(name, namespace) {
				e.fetched(s)
			}
		}
	})
}

// Fetched answers Effects.Fetch with the slices of a Service. What the index was told of
// since it asked counts more.
func (x *Index) Fetched(service types.NamespacedName, all []*discovery_v1.EndpointSlice) Effects {
	return x.edit(func(e *edit) {
		s, ok := e.services[service]
		if !ok || !s.fetching {
			return
		}
		all = slices.DeleteFunc(all, func(slice *discovery_v1.EndpointSlice) bool { return s.touched[slice.Name] })
		for _, slice := range all {
			e.setSlice(slice)
		}
		e.fetched(s)
	})
}

type object interface {
	GetNamespace() string
	GetName() string
}

func nameOf(o object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func within(name types.NamespacedName, namespace string) bool {
	return namespace == "" || name.Namespace == namespace
}
