package xdsserve

// memory is what a proxy's stream leaves to the next one.
type memory struct {
	refused map[key]refusal
	// unsure are resources of which the proxy may have another version than it
	// says: it records nothing of a response that it refused, though it may apply
	// part of it; and a changed cluster that it got drops the endpoints that it
	// still lists, while those sent behind may be lost.
	unsure map[key]struct{}
}

func (m memory) empty() bool { return len(m.refused)+len(m.unsure) == 0 }

// recall uses the memory of the earlier stream for one kind; kept says whether
// the proxy has kept something, and thus is the same process. A new process may
// take what an old one refused, and has nothing.
func (s *session) recall(k kind, kept bool) {
	for u := range s.memory.unsure {
		if u.kind == k && s.wildcard[k] {
			s.haunt(u)
		}
	}
	if !kept {
		return
	}
	for u := range s.memory.unsure {
		if r := s.records[k][u.name]; u.kind == k && r != nil {
			r.force, r.pushed = true, k == endpoints
			s.queue(r)
		}
	}
	for u, old := range s.memory.refused {
		if r := s.records[k][u.name]; u.kind == k && r != nil && r.want != nil && r.want.Version == old.version {
			r.suspect = true
			s.setRefused(r, &old)
			s.reopen(r)
		}
	}
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
	m := memory{refused: map[key]refusal{}, unsure: map[key]struct{}{}}
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
	for r := range s.refused {
		m.refused[r.key] = *r.refused
	}
	for k := range numKinds {
		for _, r := range s.records[k] {
			if r.flights > 0 || r.force || len(r.doubt) > 0 || (r.touched && r.held == nil) {
				m.unsure[r.key] = struct{}{}
			}
		}
	}
	return m
}
