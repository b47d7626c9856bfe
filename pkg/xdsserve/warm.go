package xdsserve

import (
	"slices"
	"time"
)

var noTime time.Time

// waits reports whether a listener, scope or table has to stay because a cluster that
// it would begin to use is not ready. It stays at most WarmTimeout, whatever
// comes to it meanwhile.
func (s *session) waits(r *record) bool {
	if r.kind == clusters {
		return s.waitsToFollow(r)
	}
	if r.kind != listeners && r.kind != tables && r.kind != scopes {
		return false
	}
	warming, late := s.unready(r, r.want)
	if warming && r.holdUntil.IsZero() {
		r.holdUntil = s.now.Add(s.opts.WarmTimeout)
	}
	if warming && s.now.Before(r.holdUntil) {
		s.wakeAt(r.holdUntil)
		return true
	}
	r.late = warming || late
	return false
}

// waitsToFollow reports whether a changed cluster has to stay because its endpoints,
// which it drops, could not follow it: the proxy has yet to ask for the endpoints
// that it kept. If the Server ended in between, the next one would not know that it
// owes them. Proxies that connect again ask for all kinds at once.
func (s *session) waitsToFollow(c *record) bool {
	until := s.since.Add(s.opts.WarmTimeout)
	if s.asked[endpoints] || c.held == nil || !s.now.Before(until) ||
		!slices.ContainsFunc(c.want.uses, func(u key) bool { return u.kind == endpoints }) {
		return false
	}
	s.wakeAt(until)
	return true
}

// unready reports whether a version of r uses, directly or through its tables, a
// cluster that the version that the proxy has does not use, and that is still
// warming, or late: not ready and no longer waited for.
func (s *session) unready(r *record, it *item) (warming, late bool) {
	if r.kind != listeners && len(s.cold) == 0 && len(s.dirty[clusters]) == 0 && s.asked[clusters] && s.asked[endpoints] {
		return false, false
	}
	for _, u := range it.uses {
		var w, l bool
		used := s.records[u.kind][u.name]
		switch {
		case u.kind == scopes && used.want != nil && used.latest() == nil && used.refused == nil:
			w = true // without it a listener that goes live answers 404
		case (u.kind == tables || u.kind == scopes) && r.kind == listeners && used.want != nil:
			w, l = s.unready(used, used.want)
		case u.kind == clusters && r.begins(u):
			w, l = s.chilly(used)
		}
		warming, late = warming || w, late || l
	}
	return warming, late
}

// waitsFor reports whether a version of r would begin to use a cluster that is warming.
func (s *session) waitsFor(r *record, u key) bool {
	if u.kind != clusters || !r.begins(u) {
		return false
	}
	warming, _ := s.chilly(s.records[u.kind][u.name])
	return warming
}

// begins reports whether the version that the proxy has does not use something.
func (r *record) begins(u key) bool { return r.held == nil || !r.held.usesKey(u) }

func (s *session) chilly(c *record) (warming, late bool) {
	if until, cold := s.cold[c]; cold {
		if s.now.Before(until) {
			s.wakeAt(until)
			return true, false
		}
		return false, true
	}
	unsent := c.want != nil && c.latest() == nil && c.refused == nil && (s.covered(c) || !s.asked[clusters])
	return unsent || s.hungry(c), false
}

// hungry reports whether a cluster still lacks its endpoints because the proxy
// never asked for any yet: it will, as soon as it has the cluster. They may also be
// owed since an earlier stream. A version that is not known here is taken to have the
// endpoints of the one that the proxy should have.
func (s *session) hungry(c *record) bool {
	if s.asked[endpoints] || c.latest() == nil {
		return false
	}
	uses := c.latest().uses
	if c.latest().foreign && c.want != nil {
		uses = c.want.uses
	}
	return slices.ContainsFunc(uses, func(u key) bool {
		e := s.records[u.kind][u.name]
		_, owed := s.memory.unsure[u]
		return u.kind == endpoints && e.want != nil && (owed || e.pushed && e.force)
	})
}
