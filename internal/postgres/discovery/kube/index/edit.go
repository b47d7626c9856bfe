package index

import (
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// edit is one change under way.
type edit struct {
	*Index
	effects Effects
	changes bool
	leaving map[discovery.Target]bool // what may be gone at the end of the change
}

// edit makes a change. What is gone is known at its end: an endpoint may leave one slice
// and enter another.
func (x *Index) edit(change func(*edit)) Effects {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := &edit{Index: x}
	change(e)
	for target := range e.leaving {
		if !x.serves(target) {
			e.effects.Gone = append(e.effects.Gone, target)
		}
	}
	if e.changes {
		x.notify()
	}
	return e.effects
}

func (e *edit) setService(o *core_v1.Service) {
	name := nameOf(o)
	now := readClaim(o, e.options)
	s, known := e.services[name]
	switch {
	case known && s.claim.equal(now):
		return
	case !known:
		s = &service{name: name, slices: map[string]*slice{}, fetching: true, touched: map[string]bool{}}
		e.services[name] = s
		e.effects.Fetch = append(e.effects.Fetch, name)
	}
	e.changes = true
	e.tell(s)
	before := s.claim
	moves := before.valid && (!now.valid || before.rank != now.rank || before.form != now.form)
	if moves || before.dial.backend != now.dial.backend {
		e.leaves(s)
	}
	if moves {
		e.withdraw(s)
	}
	s.claim = now
	if !now.refused && s.dial != now.dial {
		e.redial(s, now.dial)
	}
	if now.valid {
		e.enter(s)
	}
}

func (e *edit) removeService(name types.NamespacedName) {
	s, known := e.services[name]
	if !known {
		return
	}
	e.changes = true
	e.tell(s)
	e.leaves(s)
	if s.claim.valid {
		e.withdraw(s)
	}
	for slice := range s.slices {
		delete(e.kept, types.NamespacedName{Namespace: name.Namespace, Name: slice})
	}
	delete(e.services, name)
}

// redial lists the endpoints of a Service anew, by other ports.
func (e *edit) redial(s *service, now dial) {
	for _, slice := range s.slices {
		e.unlist(s, slice)
	}
	s.dial = now
	for _, slice := range s.slices {
		e.list(s, slice)
	}
}

func (e *edit) setSlice(o *discovery_v1.EndpointSlice) {
	name := nameOf(o)
	owner := types.NamespacedName{Namespace: name.Namespace, Name: o.Labels[discovery_v1.LabelServiceName]}
	if kept, ok := e.kept[name]; ok && kept != owner.Name {
		e.drop(name)
	}
	s, chosen := e.services[owner]
	if !chosen {
		return
	}
	s.touch(name.Name)
	now, before := readSlice(o, e.options), s.slices[name.Name]
	if before != nil && before.equal(now) {
		return
	}
	e.changes = true
	e.kept[name], s.slices[name.Name] = owner.Name, now
	e.list(s, now) // first, so that what is in both never leaves
	if before != nil {
		e.unlist(s, before)
	}
	if before == nil || before.problem != now.problem || before.port != now.port {
		e.tell(s)
	}
}

func (e *edit) removeSlice(o *discovery_v1.EndpointSlice) {
	if s, chosen := e.services[types.NamespacedName{Namespace: o.Namespace, Name: o.Labels[discovery_v1.LabelServiceName]}]; chosen {
		s.touch(o.Name)
	}
	e.drop(nameOf(o))
}

// drop forgets a slice that is kept.
func (e *edit) drop(name types.NamespacedName) {
	owner, ok := e.kept[name]
	if !ok {
		return
	}
	e.changes = true
	s := e.services[types.NamespacedName{Namespace: name.Namespace, Name: owner}]
	gone := s.slices[name.Name]
	delete(s.slices, name.Name)
	delete(e.kept, name)
	e.unlist(s, gone)
	if gone.problem != (Problem{}) || gone.port == 0 {
		e.tell(s)
	}
}

// list and unlist count what a slice lists.
func (e *edit) list(s *service, slice *slice) {
	slice.port = s.dial.portIn(slice)
	for _, entry := range slice.entries {
		if slice.port != 0 {
			s.add(entry, slice.port)
		}
	}
}

func (e *edit) unlist(s *service, slice *slice) {
	for _, entry := range slice.entries {
		if slice.port == 0 {
			return
		}
		if address, left := s.remove(entry, slice.port); left {
			e.leave(discovery.Target{Backend: s.dial.backend, Address: address})
		}
	}
}

func (e *edit) fetched(s *service) {
	e.changes = e.changes || s.fetching
	s.fetching, s.touched = false, nil
}

func (s *service) touch(slice string) {
	if s.fetching {
		s.touched[slice] = true
	}
}

func (e *edit) tell(s *service) { e.effects.Told = append(e.effects.Told, s.name) }

// leaves says that sessions may not stay at a Service; whether that is so is known at
// the end.
func (e *edit) leaves(s *service) {
	if s.dial.backend.Service == "" {
		return // it never served
	}
	e.leave(discovery.Target{Backend: s.dial.backend, Address: s.dial.byName})
	for _, endpoint := range s.listed {
		e.leave(discovery.Target{Backend: s.dial.backend, Address: endpoint.address})
	}
}

func (e *edit) leave(t discovery.Target) {
	if e.leaving == nil {
		e.leaving = map[discovery.Target]bool{}
	}
	e.leaving[t] = true
}
