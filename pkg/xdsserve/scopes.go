package xdsserve

import "strings"

// Scopes are parts of a table that a proxy looks up by key. They are named
// "set/part", and a listener that looks routes up in a set uses its rest, "set/",
// which answers for what no other part does. Proxies ask for all scopes at once
// when they get the first listener that has any, and take them off at once when
// they are removed, in use or not. So, as long as the set is wanted, a part goes
// when it is withdrawn; and when the set is not, all of it stays until no listener
// has used it for the time that connections take to drain.

// setOf is the key of the rest of a scope's set.
func setOf(scope key) key {
	set, _, _ := strings.Cut(scope.name, "/")
	return key{scopes, set + "/"}
}

// prompt reports whether a withdrawn record goes with the next response.
func (s *session) prompt(r *record) bool {
	switch r.kind {
	case listeners:
		return true
	case scopes:
		rest := s.records[scopes][setOf(r.key).name]
		return rest != nil && rest.want != nil
	default:
		return false
	}
}

// inUse reports whether a listener may still look routes up in a scope's set.
func (s *session) inUse(r *record) bool {
	if r.kind != scopes {
		return false
	}
	rest := s.records[scopes][setOf(r.key).name]
	return rest != nil && rest.users > 0
}

// hasten lets the withdrawn parts of a set go at once, now that the set is wanted again.
func (s *session) hasten(rest *record) {
	for _, r := range s.records[scopes] {
		if r.want == nil && setOf(r.key) == rest.key {
			r.due = noTime
			s.leave(r)
		}
	}
}
