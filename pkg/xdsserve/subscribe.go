package xdsserve

import (
	"fmt"
	"slices"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

const everything = "*"

// receive takes one request: an answer, subscriptions, or both. The answer comes
// first: a name that is asked for together with the answer to a response that
// carried it was dropped by the proxy, and is sent again.
func (s *session) receive(req *discovery_v3.DeltaDiscoveryRequest) error {
	k, ok := kindOf(Type(req.GetTypeUrl()))
	if !ok {
		s.refuseType(req)
		return nil
	}
	if req.GetResponseNonce() != "" {
		s.answer(k, req)
	}
	for _, name := range req.GetResourceNamesUnsubscribe() {
		s.unsubscribe(key{k, name})
	}
	first, resumed := !s.asked[k], s.resumed
	if kept := len(req.GetInitialResourceVersions()); kept > s.opts.MaxNames {
		return fmt.Errorf("proxy %q lists %d resources that it has; at most %d are taken (Options.MaxNames)", s.proxy, kept, s.opts.MaxNames)
	}
	if first {
		s.meet(k, req)
	}
	for _, name := range req.GetResourceNamesSubscribe() {
		if err := s.subscribe(key{k, name}, first && req.GetInitialResourceVersions()[name] != ""); err != nil {
			return err
		}
	}
	if first {
		s.recall(k, resumed)
		s.sort(k, req.GetInitialResourceVersions())
	}
	return nil
}

// sort lets go of what the proxy kept and that is not published, or not asked for.
func (s *session) sort(k kind, kept map[string]string) {
	for name := range kept {
		if r := s.records[k][name]; r != nil {
			s.leave(r)
			s.tidy(r)
		}
	}
}

// refuseType reports, once, that a proxy waits for a type that is not served.
func (s *session) refuseType(req *discovery_v3.DeltaDiscoveryRequest) {
	t := Type(req.GetTypeUrl())
	if len(s.unserved) > 20 || s.unserved[t] {
		return
	}
	s.unserved[t] = true
	s.emit(Event{Kind: Unserved, Type: t, Names: req.GetResourceNamesSubscribe()})
}

// meet takes the first request of a kind on this stream: what the proxy kept
// from an earlier stream, and whether it wants everything.
func (s *session) meet(k kind, req *discovery_v3.DeltaDiscoveryRequest) {
	s.asked[k] = true
	kept := req.GetInitialResourceVersions()
	for name, version := range kept {
		s.keep(key{k, name}, version)
	}
	if names := req.GetResourceNamesSubscribe(); len(names) == 0 || slices.Contains(names, everything) {
		s.widen(k)
		s.greet[k] = s.wildcard[k] && len(kept) == 0
		if k == scopes && s.resumed {
			s.greet[k] = false // it connects again, and was greeted then: most have no scopes
		}
	}
	if k == endpoints {
		s.queuePushed()
	}
	s.resumed = s.resumed || len(kept) > 0
	s.untold = s.untold || len(kept) > 0
}

// queuePushed lets go what waited for the proxy to ask for any endpoints.
func (s *session) queuePushed() {
	for _, r := range s.records[endpoints] {
		if r.pushed {
			s.queue(r)
		}
	}
}

// keep notes that the proxy has a version of a resource.
func (s *session) keep(k key, version string) {
	r := s.record(k)
	r.touched = true
	if r.want != nil && r.want.Version == version {
		s.setHeld(r, r.want)
		r.ackedAt = s.now
	} else if it := s.memory.find(k, version); it != nil {
		s.setHeld(r, it)
	} else {
		s.setHeld(r, &item{Name: k.Name(), Version: version, key: k, foreign: true})
	}
	s.reopen(r)
}

// widen turns a kind into a wildcard subscription.
func (s *session) widen(k kind) {
	if s.wildcard[k] || !k.wild() {
		return
	}
	s.wildcard[k] = true
	if shelf := s.catalog.groups[s.group]; shelf != nil {
		for name := range shelf[k] {
			s.record(key{k, name})
		}
	}
	for _, r := range s.records[k] {
		s.reopen(r)
		s.queue(r)
	}
}

// narrow ends a wildcard subscription.
func (s *session) narrow(k kind) {
	if !s.wildcard[k] {
		return
	}
	s.wildcard[k] = false
	for _, r := range s.records[k] {
		if !r.subscribed {
			s.forget(r)
			s.tidy(r)
		}
	}
}

// subscribe adds one name. A proxy that asks gets an answer even if it had the
// resource before: it may have dropped it. What is on its way already, and was
// when it asked, counts as the answer; so does what it says to have kept.
func (s *session) subscribe(k key, kept bool) error {
	if k.name == everything {
		s.widen(k.kind)
		return nil
	}
	r := s.record(k)
	if !r.subscribed && !kept && !k.kind.wild() {
		s.setHeld(r, nil) // what it acknowledged unasked came too early, and was lost
	}
	if !r.subscribed {
		if s.named++; s.named > s.opts.MaxNames {
			return fmt.Errorf("proxy %q asks for more than %d resources by name (Options.MaxNames)", s.proxy, s.opts.MaxNames)
		}
	}
	r.subscribed, r.declined = true, false
	s.setWant(r, s.visible(r))
	switch {
	case r.want == nil:
		if k.kind.wild() {
			s.absent[k.kind] = append(s.absent[k.kind], k.name)
		}
	case kept, r.flights > 0 && r.sent == r.want:
	default:
		r.force = true
	}
	s.reopen(r)
	s.queue(r)
	return nil
}

func (s *session) unsubscribe(k key) {
	if k.name == everything {
		s.narrow(k.kind)
		return
	}
	r := s.records[k.kind][k.name]
	if r == nil {
		return
	}
	if r.subscribed {
		r.subscribed = false
		s.named--
	}
	r.declined = true
	if s.wildcard[k.kind] {
		s.setWant(r, s.visible(r))
	} else {
		s.forget(r)
	}
	s.tidy(r)
}
