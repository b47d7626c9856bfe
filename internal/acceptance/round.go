package acceptance

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Round decides over the observed view: in one trial when nothing new is at fault,
// and otherwise by a search for what is.
func (r Rules) Round(in Input) Decision {
	if in.Recalled != nil && in.Accepted.View().Revision() == 0 {
		return r.resume(in)
	}
	s := newSearch(r, in)
	s.decide()
	return s.decision()
}

// decide goes from the cheapest way to find what is at fault to the dearest, and
// ends where everything else has advanced.
func (s *search) decide() {
	if open, found := s.byProvenance(s.open); !found && !s.stopped() {
		s.bisect(open)
	}
	s.reopen()
	s.again()
	s.together()
}

// byProvenance tries groups without those that refusals name, until what is left is
// accepted, and otherwise returns what is left to search.
func (s *search) byProvenance(open []group) (left []group, found bool) {
	for {
		t := s.try(open)
		if t.ok {
			s.advance(t, open)
			return nil, true
		}
		if s.stopped() {
			return open, false
		}
		named := s.named(t, open)
		if len(named) == 0 && !(len(open) == 0 && s.closeDependents(t)) {
			return open, s.resign(t, open)
		}
		for _, c := range named {
			s.withhold(c)
		}
		open = except(open, s.isWithheld)
	}
}

// resign accepts what is refused although nothing can be withheld to mend it: then
// the values at fault are left out of the outputs.
func (s *search) resign(t attempt, open []group) bool {
	if len(open) > 0 || len(s.lowered) > 0 || s.outdated(t) {
		return false
	}
	s.unresolved = t.refusals
	s.advance(t, nil)
	return true
}

// outdated reports whether a validator refuses what was accepted before, without any
// change: it was accepted without its verdict, or the validator has changed its mind.
func (s *search) outdated(t attempt) bool {
	byValidator := slices.ContainsFunc(t.refusals, func(r Refusal) bool { return r.By != "" && !r.Final })
	return byValidator && !s.forgot && s.in.Accepted.View().Revision() != 0
}

// bisect searches groups that are bad as a whole, starting from something valid: the
// accepted revisions, or nothing at all, or everything observed but a part of it.
func (s *search) bisect(groups []group) {
	if s.holds() {
		s.halve(groups, len(s.dependents) == 0)
		return
	}
	if s.in.Accepted.View().Revision() != 0 && !s.stopped() {
		if s.forget(); s.holds() {
			if open, found := s.byProvenance(s.open); !found {
				s.halve(open, false)
			}
			return
		}
	}
	s.noBaseline = !s.stopped() && !s.leavePartOut(s.open) && !s.stopped()
}

// holds reports whether the base itself is valid, or can be made so by closing what
// depends on what fell back.
func (s *search) holds() bool {
	t := s.try(nil)
	for !t.ok && s.closeDependents(t) {
		t = s.try(nil)
	}
	if t.ok {
		s.advance(t, nil)
	}
	return t.ok
}

// forget starts from nothing: everything observed is to be decided about.
func (s *search) forget() {
	s.base, s.forgot = derive.State{}, true
	s.under, s.lowered, s.dependents, s.resting = s.base.View(), nil, nil, nil
	s.open, s.always = s.captured(s.base.View(), s.in.Observed)
	clear(s.standing)
	clear(s.withheld)
}

// halve finds what is at fault among groups: good halves advance, bad ones are
// halved again. Of groups known to be bad as a whole, the whole is not tried again.
func (s *search) halve(groups []group, known bool) (good bool) {
	if len(groups) == 0 || s.stopped() {
		return true
	}
	if !known || len(groups) == 1 {
		t := s.try(groups)
		switch {
		case t.ok:
			s.advance(t, groups)
			return true
		case s.stopped():
			return false
		case len(groups) == 1:
			s.withhold(s.alone(t, groups[0]))
			return false
		}
	}
	middle := len(groups) / 2
	left := s.halve(groups[:middle], false)
	s.halve(groups[middle:], left)
	return false
}

// decision is what the search came to.
func (s *search) decision() Decision {
	d := Decision{
		State: s.base, Delta: s.delta, Rejected: maps.Clone(s.standing), Unresolved: s.unresolved,
		Unavailable: s.unavailable, NoBaseline: s.noBaseline, Moved: s.moved,
		Wants: s.base.Wants(), Faults: s.faults, Work: s.work, Trials: len(s.trials), Tried: s.trials,
	}
	if s.noBaseline {
		d.State, d.Delta = s.in.Accepted, derive.Delta{}
	} else if s.advances > 1 || s.forgot {
		d.Delta = s.Between(s.in.Accepted, s.base)
	}
	for key, r := range d.Rejected {
		s.serving(&r)
		d.Rejected[key] = r
	}
	for _, c := range s.withheld {
		for _, key := range c.keys {
			d.Rejected[key] = s.reject(key, c)
		}
	}
	return d
}

func (s *search) reject(key store.Key, c cause) Rejection {
	observed, _ := s.in.Observed.Get(key)
	out := Rejection{Object: key, Refused: observed, Steps: c.steps, By: c.by, rests: map[store.Key]any{}, loose: c.loose}
	for _, other := range c.rests {
		if s.identity(other) != c.identity {
			out.rests[other], _ = s.in.Observed.Get(other)
		}
	}
	s.serving(&out)
	s.mends(&out)
	if s.Testify != nil {
		out.Evidence = s.Testify(c.trial, key)
	}
	return out
}

func add(sum *derive.Work, w derive.Work) {
	for node, runs := range w.Functions {
		sum.Functions[node] += runs
	}
	sum.Members += w.Members
	sum.Bytes += w.Bytes
}
