package acceptance

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// search is one round in progress. Its base only ever moves from one valid state
// to another.
type search struct {
	Rules
	in       Input
	open     []group                 // what this round decides about
	always   []store.Key             // what every trial includes
	resting  []group                 // what stays rejected without a trial
	standing map[store.Key]Rejection // and why, by key

	base        derive.State
	under       store.View   // what serves of what a trial leaves out
	lowered     []store.Key  // where under is not as the base was
	dependents  []group      // closed although they did not change
	delta       derive.Delta // of the last advance
	faults      []derive.Fault
	advances    int
	forgot      bool             // the accepted state was not valid any more
	withheld    map[string]cause // by identity
	unresolved  []Refusal
	unavailable string
	noBaseline  bool
	moved       bool

	first  *attempt // of all that is open, if it was made already
	work   derive.Work
	trials []Tried
}

// cause is why a group is withheld.
type cause struct {
	group
	steps []verdict.Step
	by    string // the validator
	rests []store.Key
	trial derive.State
	// loose tells that the refusal names no object.
	loose bool
	// own tells that the refusal names this group and nothing else that is open:
	// no other group can mend it but those that it rests on.
	own bool
	// suspect tells that the refusal named it with others, of which few may be at fault.
	suspect bool
	// at is how often the base had moved when it was refused.
	at int
}

func newSearch(r Rules, in Input) *search {
	s := &search{
		Rules: r, in: in, base: in.Accepted, standing: map[store.Key]Rejection{}, withheld: map[string]cause{},
		work: derive.Work{Functions: map[string]int{}}, under: in.Accepted.View(),
	}
	groups, always := r.captured(in.Accepted.View(), in.Observed)
	s.always = always
	s.open = except(s.lower(groups), func(g group) bool {
		stands := s.stands(g)
		if stands {
			s.resting = append(s.resting, g)
			for _, key := range g.keys {
				s.standing[key] = in.Standing[key]
			}
		}
		return stands
	})
	return s
}

// stands reports whether a group stays rejected without a trial: the refused
// revision is what is observed, and nothing that its refusal rests on has changed.
func (s *search) stands(g group) bool {
	moved := false
	for _, key := range g.keys {
		r, rejected := s.in.Standing[key]
		if !rejected || r.loose && s.in.Reconsider || !same(s.in.Observed, key, r.Refused) {
			return false
		}
		switch {
		case r.unmoved(s.in.Observed):
		case r.loose && s.in.Patient:
			moved = true
		default:
			return false
		}
	}
	s.moved = s.moved || moved
	return true
}

func same(view store.View, key store.Key, value any) bool {
	now, _ := view.Get(key)
	return store.Identical(now, value)
}

func (r Rejection) unmoved(observed store.View) bool {
	for key, value := range r.rests {
		if !same(observed, key, value) {
			return false
		}
	}
	return true
}

// attempt is a trial and what was said of it.
type attempt struct {
	derive.Result
	refusals []Refusal
	ok       bool // nothing refused it
}

// try evaluates the base with the observed revisions of groups.
func (s *search) try(groups []group) attempt {
	if s.in.Ended != nil && s.in.Ended() {
		s.unavailable = "the time for it is over"
		return attempt{}
	}
	if t := s.first; t != nil {
		s.first = nil
		return *t
	}
	return s.judge(s.base, s.Eval(s.base, s.candidate(groups)))
}

// judge says what is wrong with a trial whose delta is against a base.
func (s *search) judge(base derive.State, result derive.Result) attempt {
	add(&s.work, result.Work)
	t := attempt{Result: result, refusals: s.Check(result)}
	if len(t.refusals) == 0 && s.Validate != nil {
		answer := s.Validate(Trial{Base: base, State: result.State, Delta: result.Delta})
		t.refusals, s.unavailable = answer.Refusals, answer.Unavailable
	}
	t.ok = len(t.refusals) == 0 && !s.stopped()
	s.trials = append(s.trials, s.tried(t))
	return t
}

// stopped reports whether a validator could not tell.
func (s *search) stopped() bool { return s.unavailable != "" }

// candidate is the view of a trial. Whichever way is shorter leads to it; a branch
// of the observed view keeps sharing its memory.
func (s *search) candidate(groups []group) store.View {
	in := keysOf(groups)
	out := s.outside(groups)
	if len(out) <= len(in) || s.advances == 0 && len(groups) == len(s.open) {
		return s.in.Observed.Substitute(s.under, out...)
	}
	return s.under.Substitute(s.in.Observed, append(in, s.always...)...)
}

// outside are the keys that a trial of groups leaves as they are under it.
func (s *search) outside(groups []group) []store.Key {
	inside := make(map[string]bool, len(groups))
	for _, g := range groups {
		inside[g.identity] = true
	}
	var out []store.Key
	for key := range s.standing {
		out = append(out, key)
	}
	for _, g := range s.open {
		if !inside[g.identity] {
			out = append(out, g.keys...)
		}
	}
	slices.SortFunc(out, store.Key.Compare)
	return out
}

// advance makes a valid trial the base.
func (s *search) advance(t attempt, groups []group) {
	s.base, s.under, s.delta = t.State, t.State.View(), t.Delta
	s.faults = append(s.faults, t.Faults...)
	s.advances++
	for _, g := range groups {
		delete(s.withheld, g.identity)
	}
}
