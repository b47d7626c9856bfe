package xdsserve

import (
	"slices"
	"time"
)

// Publish changes what is served, atomically, and returns the sequence number
// of the change, which increases by one each time. It does not block on proxies,
// and costs the size of the update for each proxy in a group that it names.
// Removals come before sets; of several sets of a name the last counts. It panics
// on a Type that is not one of the constants.
//
// Until the first Publish no proxy gets an answer, so that a control plane that
// starts takes nothing away from proxies that run: the first Publish is complete.
func (s *Server) Publish(u Update) uint64 {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog.seq++
	woken := map[string]struct{}{}
	for _, r := range u.Remove {
		k, changed := s.catalog.remove(r)
		s.note(r.Group, k, changed)
		woken[r.Group] = struct{}{}
	}
	for _, r := range u.Set {
		k, changed := s.catalog.set(r, now)
		s.note(r.Group, k, changed)
		woken[r.Group] = struct{}{}
	}
	for group := range woken {
		s.wake(group)
	}
	if s.catalog.seq == 1 {
		s.wake("")
	}
	return s.catalog.seq
}

// note marks a key as changed for the streams that may see it.
func (s *Server) note(group string, k key, changed bool) {
	if !changed {
		return
	}
	for c := range s.audience(group) {
		c.changed[k] = struct{}{}
		s.noted++
	}
}

func (s *Server) wake(group string) {
	for c := range s.audience(group) {
		c.rouse()
	}
}

// audience yields the streams that may see what is published in a group.
func (s *Server) audience(group string) func(yield func(*connection) bool) {
	return func(yield func(*connection) bool) {
		if group != "" {
			yieldAll(s.streams[group], yield)
			return
		}
		for _, streams := range s.streams {
			if !yieldAll(streams, yield) {
				return
			}
		}
	}
}

func yieldAll(streams map[*connection]struct{}, yield func(*connection) bool) bool {
	for c := range streams {
		if !yield(c) {
			return false
		}
	}
	return true
}

// Retry sends resources again to the proxies that refused them, as for a port
// that was in use. Names that nobody refused are left alone.
func (s *Server) Retry(names ...Scoped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range names {
		k, ok := kindOf(n.Type)
		if !ok {
			continue
		}
		for c := range s.audience(n.Group) {
			if !slices.Contains(c.again, key{k, n.Name.Name}) {
				c.again = append(c.again, key{k, n.Name.Name})
			}
			c.rouse()
		}
	}
}
