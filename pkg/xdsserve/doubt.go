package xdsserve

import "slices"

// doubt notes that the proxy may have a version, or not: it left in a response
// that was refused as a whole. Nothing that the version uses leaves until the
// proxy has answered for the resource alone. But it is not expected to be asked for.
func (s *session) doubt(r *record, it *item) {
	r.doubt = append(r.doubt, it)
	s.doubtful[r] = struct{}{}
	s.reopenUsed(r)
}

// certain ends all doubt about a record: the proxy took a version.
func (s *session) certain(r *record) { s.undoubt(r, func(*item) bool { return true }) }

// assure ends doubt about one version: refused alone, it was not applied before.
func (s *session) assure(r *record, version string) {
	s.undoubt(r, func(it *item) bool { return it.Version == version })
}

func (s *session) undoubt(r *record, match func(*item) bool) {
	if len(r.doubt) == 0 {
		return
	}
	doubt := r.doubt
	r.doubt = slices.DeleteFunc(slices.Clone(doubt), match)
	if len(r.doubt) == 0 {
		r.doubt = nil
		delete(s.doubtful, r)
	}
	for _, it := range doubt {
		for _, u := range it.uses {
			if used := s.records[u.kind][u.name]; used != nil {
				s.leave(used)
			}
		}
	}
	s.reopenUsed(r)
}

// unsure reports whether a record may stay in doubt for good: the proxy refuses
// what would end it.
func (r *record) unsure() bool { return r.refused != nil && len(r.doubt) > 0 }

// listenersUnsure reports whether any listener is unsure.
func (s *session) listenersUnsure() bool {
	for d := range s.doubtful {
		if d.kind == listeners && d.unsure() {
			return true
		}
	}
	return false
}

// presumed counts the users of a record of which it is not sure that the proxy has
// the version that uses it: it may have one that does not, and never ask.
func (s *session) presumed(r *record) int32 {
	n := int32(0)
	for d := range s.doubtful {
		if d.unsure() && d.held != nil && d.held.usesKey(r.key) {
			n++
		}
	}
	return n
}

// reopenUsed is reopen for what the held version uses, after a change of doubt
// or refusal.
func (s *session) reopenUsed(r *record) {
	if r.held == nil {
		return
	}
	for _, u := range r.held.uses {
		if used := s.records[u.kind][u.name]; used != nil {
			s.reopen(used)
		}
	}
}

// maybeUsed reports whether a version in doubt uses a record.
func (s *session) maybeUsed(r *record) bool {
	for d := range s.doubtful {
		if slices.ContainsFunc(d.doubt, func(it *item) bool { return it.usesKey(r.key) }) {
			return true
		}
	}
	return false
}
