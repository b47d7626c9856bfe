package xdsserve

import (
	"slices"
	"time"
)

// departure is a record that leaves at a time, unless it is wanted or used again.
type departure struct {
	r   *record
	due time.Time
}

// introduction is how long a proxy that connects again may take to say what it
// kept, before anything leaves. It takes milliseconds.
const introduction = time.Minute

// leave lets a record go that is no longer wanted and no longer used: listeners,
// and scopes of a set that stays, with the next response; scopes of a set that
// goes once connections have drained; the rest after the grace.
func (s *session) leave(r *record) {
	switch {
	case !s.mayLeave(r):
	case s.prompt(r):
		s.queue(r)
	case !r.due.IsZero():
	case r.kind == scopes:
		s.depart(r, s.opts.Drain)
	default:
		s.depart(r, s.opts.Grace)
	}
}

// depart lets a record go after a time.
func (s *session) depart(r *record, after time.Duration) {
	r.due = s.now.Add(after)
	at, _ := slices.BinarySearchFunc(s.leaving, r.due, func(d departure, due time.Time) int {
		if d.due.After(due) {
			return 1
		}
		return -1 // those of the same time stay before
	})
	s.leaving = slices.Insert(s.leaving, at, departure{r, r.due})
}

// mayLeave reports whether nothing that the proxy has, may have or will get
// needs the record. Clusters may be withdrawn while an ACK is due: it comes only
// when no cluster is warming.
func (s *session) mayLeave(r *record) bool {
	return !r.gone && r.want == nil && r.users == 0 && r.touched && !r.removing &&
		s.covered(r) && (r.flights == 0 || r.kind == clusters) && !s.maybeUsed(r)
}

// sendLeaving sends the removals that are due, users before what they used.
func (s *session) sendLeaving() {
	if until := s.since.Add(introduction); s.untold && s.blank() && s.now.Before(until) {
		if len(s.leaving)+len(s.stranded) > 0 {
			s.wakeAt(until)
		}
		return
	}
	s.untold = false
	s.unstrand()
	var due [numKinds][]*record
	for len(s.leaving) > 0 && !s.now.Before(s.leaving[0].due) {
		d := s.leaving[0]
		s.leaving = s.leaving[1:]
		if d.r.due != d.due {
			continue
		}
		d.r.due = noTime
		switch {
		case !s.mayLeave(d.r):
		case !s.known(d.r):
			s.stranded = append(s.stranded, d.r)
		case s.full(d.r.kind) || s.inUse(d.r):
			s.leave(d.r)
		default:
			due[d.r.kind] = append(due[d.r.kind], d.r)
		}
	}
	for _, k := range []kind{tables, scopes, clusters, endpoints, secrets} {
		if len(due[k]) > 0 {
			slices.SortFunc(due[k], byName)
			s.send(k, nil, due[k], nil)
		}
	}
	if len(s.leaving) > 0 {
		s.wakeAt(s.leaving[0].due)
	}
}

// unstrand lets stranded records leave that nothing unknown can use any more.
func (s *session) unstrand() {
	waiting := s.stranded
	s.stranded = nil
	for _, r := range waiting {
		switch {
		case !s.mayLeave(r) || !r.due.IsZero():
		case s.known(r):
			s.leave(r)
		default:
			s.stranded = append(s.stranded, r)
		}
	}
}

// known reports whether it is known of everything that could use a record what it
// uses. After a reconnect a proxy may hold versions that are not published any
// more; until they are replaced, what they could use stays.
func (s *session) known(r *record) bool {
	switch r.kind {
	case secrets:
		return s.foreign[listeners]+s.foreign[clusters] == 0
	case clusters:
		return s.foreign[listeners]+s.foreign[tables]+s.foreign[scopes] == 0
	case endpoints:
		return s.foreign[clusters] == 0
	case tables, scopes:
		return s.foreign[listeners] == 0
	default:
		return true
	}
}

// blank reports whether the proxy has yet to say what it holds of something that
// it should have.
func (s *session) blank() bool {
	if !s.asked[listeners] || s.rootsUnasked() {
		return true
	}
	if !s.asked[tables] && s.listenersUnsure() {
		return true // it may have tables, though none is awaited
	}
	return slices.ContainsFunc(s.open, func(r *record) bool {
		return r.held == nil && (r.kind == listeners || r.kind == scopes || r.kind == tables)
	})
}
