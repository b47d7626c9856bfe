package xdsserve

import (
	"slices"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// flight is a response that the proxy has not answered yet.
type flight struct {
	kind    kind
	sent    []carried
	removed []carried
	absent  []string // answers to names that do not exist
	seq     uint64
}

// carried is one resource of a flight; it is nil for a removal.
type carried struct {
	r     *record
	it    *item
	sends int32 // r.sends then: equal to it now means that nothing newer is on its way
	epoch int32
}

func (c carried) newest() bool { return c.sends == c.r.sends }

func (f *flight) names() []string        { return carriedNames(f.sent) }
func (f *flight) removedNames() []string { return append(carriedNames(f.removed), f.absent...) }

func carriedNames(cs []carried) []string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.r.name
	}
	return names
}

// answer takes an ACK or a NACK. Answers to unknown nonces are stale or invented
// and mean nothing.
func (s *session) answer(k kind, req *discovery_v3.DeltaDiscoveryRequest) {
	f := s.flights[req.GetResponseNonce()]
	if f == nil || f.kind != k {
		return
	}
	delete(s.flights, req.GetResponseNonce())
	s.inFlight[k]--
	if detail := req.GetErrorDetail(); detail != nil {
		s.refuse(f, detail.GetMessage())
	} else {
		s.acknowledge(f)
	}
	s.land(f)
	s.drained()
}

// acknowledge records that the proxy took a response as a whole.
func (s *session) acknowledge(f *flight) {
	s.emit(Event{Kind: Acknowledged, Type: f.kind.Type(), Seq: f.seq, Names: f.names(), Removed: f.removedNames()})
	for _, c := range f.sent {
		if c.r.epoch == c.epoch {
			s.took(c)
		} else {
			s.missed(c)
		}
	}
	for _, c := range f.removed {
		if c.r.epoch == c.epoch {
			s.removed(c.r)
		}
	}
}

// missed takes an answer for a resource that the proxy unsubscribed meanwhile. If
// it has subscribed again, it may have been in time for this version.
func (s *session) missed(c carried) {
	switch {
	case !s.covered(c.r):
	case !c.r.gone:
		s.doubt(c.r, c.it)
	case c.r.kind.wild():
		s.haunt(c.r.key) // withdrawn meanwhile: it has to be told
	}
}

func (s *session) took(c carried) {
	r, it := c.r, c.it
	if r.stuck && slices.ContainsFunc(r.doubt, func(d *item) bool { return d.Version == it.Version }) {
		return // refused meanwhile, and sent again before that was known: it says nothing
	}
	r.ackedAt, r.suspect, r.stuck = s.now, false, false
	if r.want != nil && r.want.Version == it.Version {
		it = r.want
		s.setRefused(r, nil)
	}
	if c.newest() {
		delete(s.cold, r)
	}
	if r.kind == listeners && r.held != nil && r.held != it && r.held.Version != it.Version {
		s.claim(r, r.held)
		s.draining[r] = append(s.draining[r], r.held)
	}
	s.setHeld(r, it)
	s.certain(r)
}

func (s *session) removed(r *record) {
	r.ackedAt = s.now
	if r.removing {
		r.removing, r.touched = false, false
	}
	s.setHeld(r, nil)
	s.certain(r)
	s.release(r, s.draining[r]...)
	delete(s.draining, r)
}

// refuse records that the proxy refused a response. A response of one resource
// names the culprit. Otherwise each of its resources is in doubt, and goes again
// alone: the proxy may have applied any of them, and records none. A refused
// removal is taken for done once it went alone; else it goes again.
func (s *session) refuse(f *flight, message string) {
	e := Event{Kind: Refused, Type: f.kind.Type(), Seq: f.seq, Names: f.names(), Removed: f.removedNames(), Message: message}
	if len(f.sent) > 1 || len(f.sent) == 1 && f.sent[0].it.blank {
		e.Kind = Doubted
	}
	s.emit(e)
	for _, c := range f.sent {
		switch {
		case c.r.epoch != c.epoch:
			c.r.suspect, c.r.stuck = true, f.kind.sticks()
			s.missed(c)
		case len(f.sent) == 1:
			c.r.suspect = true
			s.condemn(c, message)
		default:
			c.r.suspect, c.r.stuck = true, f.kind.sticks()
			s.doubt(c.r, c.it)
		}
	}
	for _, c := range f.removed {
		switch {
		case c.r.epoch != c.epoch:
		case len(f.sent) == 0:
			s.removed(c.r)
		default:
			c.r.removing = false
			if c.r.held != nil {
				s.doubt(c.r, c.r.held)
			}
		}
	}
}

// condemn notes a refusal, unless something newer is wanted by now.
func (s *session) condemn(c carried, message string) {
	r, it := c.r, c.it
	if c.newest() {
		delete(s.cold, r)
	}
	r.stuck = r.stuck || r.kind == secrets && !it.blank
	s.assure(r, it.Version)
	if r.want != nil && r.want.Version == it.Version {
		s.setRefused(r, &refusal{version: it.Version, message: message, at: s.now})
	}
}

// land takes the resources of an answered response out of the air.
func (s *session) land(f *flight) {
	for _, c := range slices.Concat(f.sent, f.removed) {
		r := c.r
		if r.flights--; r.flights == 0 {
			r.sent = nil
			r.removing = false
		}
		s.release(r, c.it)
		s.answered(r)
		if r.want != nil {
			s.queue(r)
		}
		s.leave(r)
		s.tidy(r)
	}
}

// drained releases what earlier versions of listeners used, once what the new
// version uses is answered: until then the earlier one serves.
func (s *session) drained() {
	for r, old := range s.draining {
		if s.warmed(r) {
			delete(s.draining, r)
			s.release(r, old...)
		}
	}
}

func (s *session) warmed(r *record) bool {
	if r.held == nil {
		return true
	}
	return !slices.ContainsFunc(r.held.uses, func(u key) bool {
		used := s.records[u.kind][u.name]
		return (u.kind == tables || u.kind == scopes || u.kind == secrets) && used.want != nil && used.held == nil && used.refused == nil
	})
}
