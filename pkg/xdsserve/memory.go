package xdsserve

import "time"

// memory is what a proxy's stream leaves to the next one.
type memory struct {
	refused map[key]refusal
	// unsure are resources of which the proxy may have another version than it
	// says: it records nothing of a response that it refused, though it may apply
	// part of it; and a changed cluster that it got drops the endpoints that it
	// still lists, while those sent behind may be lost.
	unsure map[key]struct{}
	// known are the versions of listeners, scopes and tables that it may have: what they
	// use is known, even if they are not published any more when it is back.
	known map[key][]*item
	at    time.Time // when the stream ended
}

func newMemory() memory {
	return memory{refused: map[key]refusal{}, unsure: map[key]struct{}{}, known: map[key][]*item{}}
}

func (m memory) empty() bool { return len(m.refused)+len(m.unsure)+len(m.known) == 0 }

// find returns a version that is not published any more, or nil.
func (m memory) find(k key, version string) *item {
	for _, it := range m.known[k] {
		if it.Version == version {
			return it
		}
	}
	return nil
}

// recall uses the memory of the earlier stream for a kind that the proxy asks for.
// A proxy that has kept nothing is a new process, which may take what the old one
// refused. It tells kind by kind, and may have kept nothing of the first ones: when
// it turns out not to be new, those are recalled, too.
func (s *session) recall(k kind, resumed bool) {
	for u := range s.memory.unsure {
		if u.kind == k && s.wildcard[k] {
			s.haunt(u)
		}
	}
	switch {
	case !s.resumed:
	case resumed:
		s.recallKept(k)
	default:
		for earlier := range numKinds {
			if s.asked[earlier] {
				s.recallKept(earlier)
			}
		}
	}
}

// recallKept is recall for a proxy that is not new.
func (s *session) recallKept(k kind) {
	for u := range s.memory.unsure {
		if r := s.records[k][u.name]; u.kind == k && r != nil {
			s.question(r)
		}
	}
	for u, old := range s.memory.refused {
		r := s.records[k][u.name]
		if u.kind == k && r != nil && r.want != nil && r.want.Version == old.version && !r.settledOn(r.want) {
			r.suspect = true
			s.setRefused(r, &old)
			s.reopen(r)
		}
	}
}

// question makes a resource go out again though the proxy says to have it. What
// it has not asked for by now it has dropped; only endpoints go unasked.
func (s *session) question(r *record) {
	if !s.covered(r) && r.kind != endpoints {
		return
	}
	for _, it := range s.memory.known[r.key] {
		s.doubt(r, it)
	}
	if r.held != nil {
		s.doubt(r, r.held)
	}
	r.force, r.pushed = true, r.kind == endpoints
	r.stuck = r.kind.sticks()
	r.suspect = r.suspect || r.stuck
	s.reopen(r)
	s.queue(r)
}

// haunt makes a resource leave explicitly that the proxy may have, unless it is
// wanted.
func (s *session) haunt(k key) {
	r := s.record(k)
	r.touched = true
	s.reopen(r)
	s.leave(r)
}

// remember returns the memory for the proxy's next stream.
func (s *session) remember() memory {
	m := newMemory()
	m.at = s.now
	for u, old := range s.memory.refused {
		if !s.asked[u.kind] {
			m.refused[u] = old
		}
	}
	for u := range s.memory.unsure {
		if !s.asked[u.kind] {
			m.unsure[u] = struct{}{}
		}
	}
	for u, items := range s.memory.known {
		if !s.asked[u.kind] {
			m.known[u] = items
		}
	}
	for r := range s.refused {
		m.refused[r.key] = *r.refused
	}
	for k := range numKinds {
		for _, r := range s.records[k] {
			if r.flights > 0 || r.force || len(r.doubt) > 0 || (r.touched && r.held == nil) {
				m.unsure[r.key] = struct{}{}
			}
			if k == listeners || k == scopes || k == tables {
				m.known[r.key] = r.possible()
			}
		}
	}
	return m
}

// maxMemories bounds what is kept of proxies that are gone.
const maxMemories = 1024

// memorize keeps a proxy's memory; of too many the oldest goes.
func (s *Server) memorize(id identity, m memory) {
	if m.empty() {
		return
	}
	s.memories[id] = m
	if len(s.memories) <= maxMemories {
		return
	}
	oldest := id
	for other, memory := range s.memories {
		if memory.at.Before(s.memories[oldest].at) {
			oldest = other
		}
	}
	delete(s.memories, oldest)
}
