package xdsserve

import (
	"sync"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// session is the state of one proxy's stream and decides what goes out. It does
// no I/O and reads no clock: the connection feeds it under mu, with the catalog
// locked for reading, and carries out its actions afterwards. One step is:
//
//	begin(now)          start a step
//	changed, again      look at what was published, or is to be retried
//	receive             take requests: subscriptions, ACKs, NACKs
//	pump                queue what may go now, in the order that makes before it breaks
//	actions, next       what to send and report; when to step again
type session struct {
	proxy, group string
	since        time.Time
	opts         *Options
	catalog      *catalog

	mu      sync.Mutex // guards what follows
	now     time.Time
	seq     uint64 // of the catalog at this step
	settled uint64
	next    time.Time // when to step again; zero for not by itself
	nonce   uint64
	named   int // subscriptions by name
	out     []action
	looked  int // records looked at, for tests of cost

	asked    [numKinds]bool
	wildcard [numKinds]bool
	greet    [numKinds]bool // the first answer is due even if it is empty
	absent   [numKinds][]string
	records  [numKinds]map[string]*record
	dirty    [numKinds][]*record
	inFlight [numKinds]int // unanswered responses
	foreign  [numKinds]int // records whose held version is foreign
	flights  map[string]*flight
	open     openHeap
	refused  map[*record]struct{}
	doubtful map[*record]struct{} // with versions in doubt

	cold     map[*record]time.Time // SlowToWarm clusters on their way, until when they are waited for
	draining map[*record][]*item   // listeners' earlier versions that serve until the new one is warm
	leaving  []departure           // in order of due
	stranded []*record             // may leave once nothing foreign can use them
	resumed  bool                  // the proxy kept something from an earlier stream
	untold   bool                  // it may have kept more than it has said yet
	memory   memory
	unserved map[Type]bool
}

// action is something for the connection to do: send a response, or report an event.
type action struct {
	response *discovery_v3.DeltaDiscoveryResponse
	event    Event
}

func newSession(proxy, group string, opts *Options, c *catalog, m memory, now time.Time) *session {
	s := &session{
		proxy: proxy, group: group, since: now, opts: opts, catalog: c,
		memory: m, untold: !m.empty(),
		flights: map[string]*flight{}, cold: map[*record]time.Time{},
		refused: map[*record]struct{}{}, doubtful: map[*record]struct{}{}, draining: map[*record][]*item{}, unserved: map[Type]bool{},
	}
	for k := range s.records {
		s.records[k] = map[string]*record{}
	}
	return s
}

// begin starts a step.
func (s *session) begin(now time.Time) {
	s.now, s.seq, s.next = now, s.catalog.seq, time.Time{}
}

// wakeAt asks for a step at a time.
func (s *session) wakeAt(t time.Time) {
	if s.next.IsZero() || t.Before(s.next) {
		s.next = t
	}
}

// take returns the actions of the step.
func (s *session) take() []action {
	out := s.out
	s.out = nil
	return out
}

func (s *session) emit(e Event) {
	e.Proxy, e.Group = s.proxy, s.group
	s.out = append(s.out, action{event: e})
}

// changed looks again at a resource that was published or removed.
func (s *session) changed(k key) {
	s.looked++
	r := s.records[k.kind][k.name]
	if r == nil {
		if s.wildcard[k.kind] && s.catalog.get(s.group, k) != nil {
			s.record(k)
		}
		return
	}
	s.setWant(r, s.visible(r))
	s.tidy(r)
}

// again makes a refused resource go out again.
func (s *session) again(k key) {
	if r := s.records[k.kind][k.name]; r != nil && r.refused != nil {
		s.setRefused(r, nil)
		s.reopen(r)
		s.queue(r)
	}
}

// record returns the record of a key, made when there is none.
func (s *session) record(k key) *record {
	if r := s.records[k.kind][k.name]; r != nil {
		return r
	}
	r := &record{key: k}
	s.records[k.kind][k.name] = r
	s.setWant(r, s.visible(r))
	return r
}

// visible returns what the proxy should have under a record's key. Wildcards
// show a proxy only what is its own group's; shared resources are for names.
func (s *session) visible(r *record) *item {
	it := s.catalog.find(s.group, r.key)
	if it != nil && r.kind.wild() && it.Group != s.group && !r.subscribed {
		return nil
	}
	return it
}

// interested reports whether the proxy has asked for a resource, or will as soon
// as it has what uses it.
func (s *session) interested(r *record) bool {
	asks := !r.kind.wild() || r.kind == scopes && !s.asked[scopes]
	return s.covered(r) || asks && !r.declined && r.users > s.presumed(r)
}

// covered reports whether the proxy has asked for a resource.
func (s *session) covered(r *record) bool { return r.subscribed || s.wildcard[r.kind] }

func (s *session) queue(r *record) {
	if !r.queued && !r.gone {
		r.queued = true
		s.dirty[r.kind] = append(s.dirty[r.kind], r)
	}
}

// tidy forgets a record that has nothing left to say.
func (s *session) tidy(r *record) {
	if r.gone || r.users > 0 || r.flights > 0 || r.subscribed {
		return
	}
	if s.wildcard[r.kind] && (r.want != nil || r.touched) {
		return
	}
	r.gone = true
	delete(s.records[r.kind], r.name)
	s.forget(r)
	s.setWant(r, nil)
}

// forget drops what the proxy is believed to have of a resource: it unsubscribed.
func (s *session) forget(r *record) {
	r.epoch++
	s.setHeld(r, nil)
	s.certain(r)
	s.release(r, s.draining[r]...)
	delete(s.draining, r)
	delete(s.cold, r)
	s.setRefused(r, nil)
	r.sent, r.due = nil, noTime
	r.touched, r.pushed, r.force, r.suspect, r.stuck, r.removing = false, false, false, false, false, false
	s.reopen(r)
}
