package acceptance

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

func (s *search) withhold(c cause) { s.withheld[c.identity] = c }

func (s *search) isWithheld(g group) bool {
	_, out := s.withheld[g.identity]
	return out
}

// named are the open groups that the refusals of a trial name: those at fault, or
// where none of these changed, those that what was refused rests on.
func (s *search) named(t attempt, open []group) map[string]cause {
	byIdentity := make(map[string]group, len(open))
	for _, g := range open {
		byIdentity[g.identity] = g
	}
	found := map[string]cause{}
	for _, refusal := range t.refusals {
		guilty := s.among(byIdentity, refusal.Culprits)
		var suspects []store.Key
		if len(guilty) == 0 && refusal.Suspects != nil {
			suspects = refusal.Suspects()
			guilty = s.among(byIdentity, suspects)
		}
		for _, g := range guilty {
			c, known := found[g.identity]
			if !known {
				c = cause{group: g, trial: t.State, by: refusal.By, own: true, at: s.advances}
			}
			c.steps = append(c.steps, refusal.Step)
			c.rests = append(append(append(c.rests, keysOf(guilty)...), refusal.Culprits...), refusal.Step.Related...)
			if !refusal.Final {
				c.rests, c.loose = append(c.rests, suspects...), c.loose || len(refusal.Culprits) == 0
			}
			c.own = c.own && len(guilty) == 1
			c.suspect = len(guilty) > few
			found[g.identity] = c
		}
	}
	return found
}

// among are the groups of keys that are in a set, each once, in order.
func (s *search) among(set map[string]group, keys []store.Key) []group {
	found := map[string]group{}
	for _, key := range keys {
		if g, ok := set[s.identity(key)]; ok {
			found[g.identity] = g
		}
	}
	return slices.SortedFunc(maps.Values(found), age)
}

// alone is the cause of a group whose own trial was refused: it rests on all that
// the refusals name, whether or not that is at fault, and on all that the trial read.
func (s *search) alone(t attempt, g group) cause {
	c := cause{group: g, trial: t.State, at: s.advances}
	if s.Reads != nil {
		c.rests = s.Reads(t.Result)
	}
	for _, refusal := range t.refusals {
		c.by = refusal.By // one trial, one validator
		c.steps = append(c.steps, refusal.Step)
		c.rests = append(append(c.rests, refusal.Culprits...), refusal.Step.Related...)
		if refusal.Final {
			c.rests = nil
			continue
		}
		c.loose = c.loose || len(refusal.Culprits) == 0
		if refusal.Suspects != nil {
			c.rests = append(c.rests, refusal.Suspects()...)
		}
	}
	return c
}

// byAge are the withheld groups, the oldest first.
func (s *search) byAge() []group {
	var out []group
	for _, c := range s.withheld {
		out = append(out, c.group)
	}
	slices.SortFunc(out, age)
	return out
}
