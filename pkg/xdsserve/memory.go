package xdsserve

// memory is what a proxy's streams leave to the next one: what it refused, and
// what it may have without saying so, because it records nothing of a response
// that it refused.
type memory struct {
	refused map[key]refusal
	ghosts  map[key]struct{}
}

func (m memory) empty() bool { return len(m.refused) == 0 && len(m.ghosts) == 0 }

// unasked copies what belongs to kinds that the proxy did not ask for.
func (m memory) unasked(to memory, asked [numKinds]bool) {
	for k, r := range m.refused {
		if !asked[k.kind] {
			to.refused[k] = r
		}
	}
	for k := range m.ghosts {
		if !asked[k.kind] {
			to.ghosts[k] = struct{}{}
		}
	}
}

// recall uses the memory of the earlier stream for one kind. Refusals hold only
// for a proxy that has kept something: a new process may take what an old one
// refused.
func (s *session) recall(k kind, kept bool) {
	for g := range s.memory.ghosts {
		if g.kind == k {
			s.haunt(g)
		}
	}
	if !kept {
		return
	}
	for g, old := range s.memory.refused {
		if r := s.records[k][g.name]; g.kind == k && r != nil && r.want != nil && r.want.Version == old.version {
			r.suspect = true
			s.setRefused(r, &old)
			s.reopen(r)
		}
	}
}

// haunt makes a resource that is not published leave explicitly.
func (s *session) haunt(k key) {
	if !s.wildcard[k.kind] {
		return
	}
	r := s.record(k)
	if r.want != nil {
		return
	}
	r.touched = true
	s.reopen(r)
	s.leave(r)
}

// remember returns the memory for the proxy's next stream.
func (s *session) remember() memory {
	m := memory{refused: map[key]refusal{}, ghosts: map[key]struct{}{}}
	s.memory.unasked(m, s.asked)
	for r := range s.refused {
		m.refused[r.key] = *r.refused
	}
	for _, k := range []kind{clusters, listeners} {
		for _, r := range s.records[k] {
			if r.touched && (r.held == nil || len(r.doubt) > 0) {
				m.ghosts[r.key] = struct{}{}
			}
		}
	}
	return m
}
