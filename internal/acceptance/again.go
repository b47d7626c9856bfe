package acceptance

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// again tries withheld groups once more, the oldest first, until none advances: a
// dependency may have, or it was named together with others that are at fault.
func (s *search) again() {
	for moved := true; moved; {
		s.wake()
		moved = s.amongSuspects()
		for _, g := range s.byAge() {
			if s.stopped() || !s.mayBeMended(s.withheld[g.identity]) {
				continue
			}
			t := s.try([]group{g})
			switch {
			case t.ok:
				s.advance(t, []group{g})
				moved = true
			case !s.stopped():
				s.withhold(s.alone(t, g))
			}
		}
	}
}

// wake withholds anew what has rested so far and rests on what advanced, so that it
// is tried again.
func (s *search) wake() {
	s.resting = except(s.resting, func(g group) bool {
		if !slices.ContainsFunc(g.keys, func(key store.Key) bool { return s.advancedUnder(s.standing[key]) }) {
			return false
		}
		c := cause{group: g, trial: s.in.Accepted, at: -1}
		for _, key := range g.keys {
			c.steps, c.by = append(c.steps, s.standing[key].Steps...), s.standing[key].By
			delete(s.standing, key)
		}
		s.open = append(s.open, g)
		s.withhold(c)
		return true
	})
}

// advancedUnder reports whether what a rejection rests on has been accepted since.
func (s *search) advancedUnder(r Rejection) bool {
	if r.loose && s.in.Patient {
		return false
	}
	for key := range r.rests {
		if before, _ := s.in.Accepted.View().Get(key); !same(s.base.View(), key, before) {
			return true
		}
	}
	return false
}

// mayBeMended reports whether another trial of a group could end differently: the
// base has moved since, unless the refusal is of nothing but the group and
// of what has not moved.
func (s *search) mayBeMended(c cause) bool {
	if c.at == s.advances {
		return false
	}
	if !c.own {
		return true
	}
	for _, key := range c.rests {
		before, _ := c.trial.View().Get(key)
		if s.identity(key) != c.identity && !same(s.base.View(), key, before) {
			return true
		}
	}
	return false
}

// together tries withheld groups that may be good only together: those whose
// refusals rest on one another, and all but one of them.
func (s *search) together() {
	for moved := true; moved && !s.stopped(); {
		loose := s.loose()
		moved = s.joined(loose) || s.leaveOneOut(loose)
		if moved {
			s.again()
		}
	}
}

// loose are the withheld groups that no refusal names for a fault of their own.
func (s *search) loose() []group {
	return except(s.byAge(), func(g group) bool { return s.withheld[g.identity].own })
}

// joined tries groups whose refusals rest on one another, and reports whether any advanced.
func (s *search) joined(groups []group) (moved bool) {
	for _, component := range s.components(groups) {
		if len(component) == 1 || len(component) == len(s.open) || s.stopped() {
			continue // tried before
		}
		if t := s.try(component); t.ok {
			s.advance(t, component)
			moved = true
		}
	}
	return moved
}

// leaveOneOut tries groups without one of them, each in turn, and reports whether
// that advanced; the one left out, the youngest that can be, is withheld.
func (s *search) leaveOneOut(groups []group) bool {
	return len(groups) > 1 && s.leaveOut(groups, 1)
}

// components are withheld groups, those together whose refusals rest on one another.
func (s *search) components(groups []group) [][]group {
	set := make(map[string]group, len(groups))
	for _, g := range groups {
		set[g.identity] = g
	}
	joined := joints{}
	for _, g := range groups {
		for _, other := range s.among(set, s.withheld[g.identity].rests) {
			joined.join(g.identity, other.identity)
		}
	}
	at := map[string]int{}
	var out [][]group
	for _, g := range groups {
		root := joined.root(g.identity)
		i, known := at[root]
		if !known {
			i = len(out)
			at[root] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], g)
	}
	return out
}

// joints are sets of names, each known by one of its names.
type joints map[string]string

func (j joints) root(name string) string {
	for j[name] != "" && j[name] != name {
		name = j[name]
	}
	return name
}

func (j joints) join(a, b string) {
	if a, b = j.root(a), j.root(b); a != b {
		j[b] = a
	}
}
