package xdsserve

import "time"

// setWant changes what the proxy should have.
func (s *session) setWant(r *record, it *item) {
	old, refused := r.want, r.refused
	if old == it {
		return
	}
	s.setRefused(r, nil)
	s.claim(r, it)
	r.want = it
	s.release(r, old)
	if it != nil && refused != nil && refused.version == it.Version {
		s.setRefused(r, refused)
	}
	if it != nil {
		r.due = time.Time{}
		if r.held != nil && r.held.Version == it.Version {
			s.setHeld(r, it)
		}
		s.queue(r)
	}
	s.reopen(r)
	s.leave(r)
	if r.kind == scopes && old == nil && it != nil && r.key == setOf(r.key) {
		s.hasten(r)
	}
}

// setHeld changes what the proxy is known to have.
func (s *session) setHeld(r *record, it *item) {
	old := r.held
	if old == it {
		return
	}
	s.claim(r, it)
	r.held = it
	if it != nil && it.foreign {
		s.foreign[r.kind]++
	}
	if old != nil && old.foreign {
		s.foreign[r.kind]--
	}
	s.release(r, old)
}

// setRefused notes that the proxy refused what it should have, or no longer
// does. What only a refused version uses is not expected to be asked for.
func (s *session) setRefused(r *record, f *refusal) {
	had := r.refused != nil
	r.refused = f
	switch {
	case f != nil && !had:
		s.refused[r] = struct{}{}
		s.release(r, r.want)
	case f == nil && had:
		delete(s.refused, r)
		s.claim(r, r.want)
	}
	if len(r.doubt) > 0 {
		s.reopenUsed(r)
	}
}

// claim counts a reference of a record to an item; while there is one, the item's
// uses have this record as a user.
func (s *session) claim(r *record, it *item) {
	if it == nil || len(it.uses) == 0 {
		return
	}
	for i := range r.claims {
		if r.claims[i].it == it {
			r.claims[i].n++
			return
		}
	}
	r.claims = append(r.claims, claim{it, 1})
	for _, u := range it.uses {
		used := s.record(u)
		used.users++
		if used.users == 1 {
			used.due = time.Time{}
		}
		s.reopen(used)
	}
}

// release takes claims back.
func (s *session) release(r *record, items ...*item) {
	for _, it := range items {
		if it != nil && len(it.uses) > 0 {
			s.unclaim(r, it)
		}
	}
}

func (s *session) unclaim(r *record, it *item) {
	for i := range r.claims {
		c := &r.claims[i]
		if c.it != it {
			continue
		}
		if c.n--; c.n > 0 {
			return
		}
		last := len(r.claims) - 1
		r.claims[i], r.claims[last] = r.claims[last], claim{}
		r.claims = r.claims[:last]
		for _, u := range it.uses {
			s.unuse(s.records[u.kind][u.name])
		}
		return
	}
}

func (s *session) unuse(r *record) {
	r.users--
	s.reopen(r)
	if r.users == 0 {
		s.leave(r)
		s.tidy(r)
	}
}
