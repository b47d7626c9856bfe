package acceptance

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// manyForced is up to how many never withheld changes are kept with a rejection as
// what may mend it; beyond it the rejection counts as loose.
const manyForced = 64

// fallback is what may serve of an object while its observed revision is withheld.
func (s *search) fallback(key store.Key, accepted, observed any) any {
	switch {
	case accepted == nil:
		return nil
	case s.in.Expired[key]:
		return s.shut(key, accepted)
	case s.Fallback == nil:
		return accepted
	default:
		return s.Fallback(key, accepted, observed)
	}
}

// shut is what of an object is left when nothing of it may serve.
func (s *search) shut(key store.Key, value any) any {
	if s.Close == nil || value == nil {
		return nil
	}
	return s.Close(key, value)
}

// lower gives what is withheld its fallback: trials take from under whatever they
// leave out. It returns the groups that can be withheld; the change of another is
// its own fallback, and so in every trial.
func (s *search) lower(groups []group) []group {
	var edits []store.Edit
	left := except(groups, func(g group) bool {
		forced := true
		for _, key := range g.keys {
			accepted, _ := s.under.Get(key)
			observed, _ := s.in.Observed.Get(key)
			value := s.fallback(key, accepted, observed)
			if !store.Identical(value, accepted) {
				edits = append(edits, store.Edit{Key: key, Value: value})
			}
			forced = forced && store.Identical(value, observed)
		}
		if forced {
			s.always = append(s.always, g.keys...)
		}
		return forced
	})
	s.under = s.under.Apply(edits...)
	for _, e := range edits {
		s.lowered = append(s.lowered, e.Key)
	}
	return left
}

// closeDependents withholds objects that did not change and cannot stay as what is
// withheld fell back: those that refusals name, or else all that what was refused
// rests on, of which those that are not at fault come back. It reports whether
// there were any.
func (s *search) closeDependents(t attempt) bool {
	if len(s.lowered) == 0 || s.stopped() {
		return false
	}
	guilty := s.accused(t)
	if len(guilty) == 0 {
		guilty = s.suspected(t)
	}
	for _, identity := range slices.Sorted(maps.Keys(guilty)) {
		s.close(guilty[identity])
	}
	return len(guilty) > 0
}

// accused are the causes to close what refusals name for a fault of its own.
func (s *search) accused(t attempt) map[string]cause {
	var culprits []store.Key
	for _, refusal := range t.refusals {
		culprits = append(culprits, refusal.Culprits...)
	}
	closable := s.closable(culprits)
	if len(closable) == 0 {
		return nil
	}
	return s.named(t, closable)
}

// suspected are the causes to close all that what was refused rests on.
func (s *search) suspected(t attempt) map[string]cause {
	var keys []store.Key
	var steps []verdict.Step
	by := ""
	for _, refusal := range t.refusals {
		steps, by = append(steps, refusal.Step), refusal.By
		if refusal.Suspects != nil {
			keys = append(keys, refusal.Suspects()...)
		}
	}
	if len(keys) == 0 && s.Reads != nil {
		keys = s.Reads(t.Result)
	}
	out := map[string]cause{}
	for _, g := range s.closable(keys) {
		out[g.identity] = cause{group: g, steps: steps, by: by, rests: keys, trial: t.State, at: -1}
	}
	return out
}

// closable are the objects of keys that serve unchanged.
func (s *search) closable(keys []store.Key) []group {
	open := map[string]bool{}
	for _, g := range s.open {
		open[g.identity] = true
	}
	at := map[string]int{}
	var out []group
	for _, key := range keys {
		identity := s.identity(key)
		value, there := s.under.Get(key)
		if identity == "" || open[identity] || !there || slices.Contains(s.always, key) || store.Identical(s.shut(key, value), value) {
			continue
		}
		i, known := at[identity]
		if !known {
			i = len(out)
			at[identity] = i
			out = append(out, group{identity: identity})
		}
		if !slices.Contains(out[i].keys, key) {
			out[i].add(s.Rules, store.Change{Key: key, Old: value})
		}
	}
	slices.SortFunc(out, age)
	return out
}

// close withholds an object that did not change.
func (s *search) close(c cause) {
	edits := make([]store.Edit, 0, len(c.keys))
	for _, key := range c.keys {
		value, _ := s.under.Get(key)
		edits = append(edits, store.Edit{Key: key, Value: s.shut(key, value)})
	}
	s.under = s.under.Apply(edits...)
	s.open = append(s.open, c.group)
	s.dependents = append(s.dependents, c.group)
	s.withhold(c)
}

// fell reports whether something that is withheld does not stay as it was.
func (s *search) fell() bool {
	for _, c := range s.withheld {
		if slices.ContainsFunc(c.keys, func(key store.Key) bool { return slices.Contains(s.lowered, key) }) {
			return true
		}
	}
	return len(s.dependents) > 0
}

// serving says what of a rejected object serves now.
func (s *search) serving(r *Rejection) {
	value, there := s.base.View().Get(r.Object)
	before, served := s.in.Accepted.View().Get(r.Object)
	was, shut := s.in.Standing[r.Object], !there || store.Identical(s.shut(r.Object, value), value)
	observed, _ := s.in.Observed.Get(r.Object)
	r.Changed = was.Changed || served && !store.Identical(before, observed) || !served && !was.Closed
	r.Retained = !shut
	r.Closed = shut && (served || was.Closed)
	r.Narrowed = !shut && (served && !store.Identical(value, before) || was.Narrowed)
}

// mends adds to what a rejection rests on the changes that were in every trial:
// without them it might have stood.
func (s *search) mends(r *Rejection) {
	if len(s.lowered) > manyForced {
		r.loose = true
		return
	}
	for _, key := range s.lowered {
		if s.identity(key) != s.identity(r.Object) {
			r.rests[key], _ = s.in.Observed.Get(key)
		}
	}
}

// reopen brings back those of the suspected dependents that are not at fault.
func (s *search) reopen() {
	if s.stopped() || s.noBaseline {
		return
	}
	s.halve(except(s.dependents, func(g group) bool { return !s.isWithheld(g) || s.withheld[g.identity].own }), false)
}
