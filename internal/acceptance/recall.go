package acceptance

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// resume is the first round of a process. Everything observed is tried first. If that
// is refused, what an earlier process had accepted is the baseline, once it is valid
// itself: then the search is the one that the earlier process would have made.
func (r Rules) resume(in Input) Decision {
	s := newSearch(r, in)
	t := s.try(s.open)
	s.first = &t // the first that decide makes
	if t.ok || s.stopped() {
		s.decide()
		return s.decision()
	}
	recalled, known := in.Recalled(in.Observed)
	if !known {
		s.decide()
		return s.decision()
	}
	if base := s.baseline(t.State, recalled); base.ok || s.stopped() {
		return s.onBaseline(base)
	}
	s.decide()
	return s.oneByOne(s.decision(), recalled)
}

// baseline judges what an earlier process had accepted as any other view from which
// a process starts; from is a state that has most of it evaluated.
func (s *search) baseline(from derive.State, view store.View) attempt {
	result := s.Eval(from, view)
	result.Delta = s.Between(s.in.Accepted, result.State)
	return s.judge(s.in.Accepted, result)
}

// onBaseline is the decision from a valid baseline on.
func (s *search) onBaseline(base attempt) Decision {
	if !base.ok { // not known: nothing may be published yet
		return s.decision()
	}
	next := newSearch(s.Rules, Input{Observed: s.in.Observed, Accepted: base.State, Expired: s.in.Expired, Ended: s.in.Ended})
	next.trials, next.work, next.faults = s.trials, s.work, base.Faults
	next.decide()
	d := next.decision()
	d.Delta = s.Between(s.in.Accepted, d.State)
	return d
}

// oneByOne adds to a decision what an earlier process had accepted of the rejected
// objects, as far as that is valid beside the rest. They stay rejected.
func (s *search) oneByOne(d Decision, recalled store.View) Decision {
	var edits []store.Edit
	for _, key := range slices.SortedFunc(maps.Keys(d.Rejected), store.Key.Compare) {
		was, known := recalled.Get(key)
		if value := s.fallback(key, was, d.Rejected[key].Refused); known && value != nil {
			edits = append(edits, store.Edit{Key: key, Value: value})
		}
	}
	if len(edits) == 0 || d.NoBaseline || d.Unavailable != "" {
		return d
	}
	found := s.Rules.Round(Input{Observed: d.State.View().Apply(edits...), Accepted: d.State, Ended: s.in.Ended})
	// What is observed may be valid beside what came back.
	last := s.Rules.Round(Input{Observed: s.in.Observed, Accepted: found.State, Expired: s.in.Expired, Ended: s.in.Ended})
	last.Delta = s.Between(s.in.Accepted, last.State)
	for _, earlier := range []Decision{found, d} {
		last.Faults = append(earlier.Faults, last.Faults...)
		last.Tried = append(earlier.Tried, last.Tried...)
		add(&last.Work, earlier.Work)
	}
	last.Trials = len(last.Tried)
	return last
}
