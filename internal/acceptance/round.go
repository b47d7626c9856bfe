package acceptance

import (
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Refusal is a check's verdict over a trial: the objects at fault and the reason.
type Refusal struct {
	// Culprits are the objects whose revisions the check names.
	Culprits []store.Key
	// Suspects returns everything that what was refused rests on. It is asked, if
	// it is not nil, when no culprit has changed: then one of these must have.
	Suspects func() []store.Key
	Step     verdict.Step
}

// Rejection is an observed revision that is not accepted.
type Rejection struct {
	Object store.Key
	// Refused is the observed value; nil is a deletion that was refused.
	Refused any
	// Retained tells that an earlier accepted revision stays in force.
	Retained bool
	// Steps say why; never empty.
	Steps []verdict.Step
	// Evidence is what Rules.Testify said of Object in the trial that was refused.
	Evidence any
	// rests are the values of the other objects that the refusal rests on: one of
	// them may be at fault instead, or may mend it.
	rests map[store.Key]any
}

// Rules are what a round is made of. Both functions are pure.
type Rules struct {
	// Eval evaluates a view, starting from any earlier state.
	Eval func(from derive.State, view store.View) derive.Result
	// Check judges a trial by what it changes against the accepted state. Refusals
	// must name culprits; a trial without refusals is valid.
	Check func(trial derive.Result) []Refusal
	// Testify returns what a trial says of one object, to be kept with its
	// rejection: what would be true had it been accepted. Nil keeps nothing.
	Testify func(trial derive.State, object store.Key) any
}

// Input is what a round starts from.
type Input struct {
	Observed store.View
	// Accepted is the state that the last round accepted; the zero State at the start.
	Accepted derive.State
	// Standing are the rejections of the last round.
	Standing map[store.Key]Rejection
}

// Decision is what a round ends with.
type Decision struct {
	// State is the new accepted state; its Delta is against Input.Accepted.
	State derive.State
	Delta derive.Delta
	// Rejected are all rejections that stand now.
	Rejected map[store.Key]Rejection
	// Unresolved are refusals that name no changed object: the values at fault
	// are left out of the outputs, and nothing could be withheld to mend it.
	Unresolved []Refusal
	Wants      []store.Key
	Faults     []derive.Fault
	// Work is the sum over all trials.
	Work derive.Work
	// Trials counts evaluations; 1 when nothing new is at fault.
	Trials int
}

// Round decides over the observed view. It takes one trial, and one more for
// each set of culprits found. The result does not depend on the order in which
// changes were captured.
func (r Rules) Round(in Input) Decision {
	withheld := r.stillWithheld(in)
	work := derive.Work{Functions: map[string]int{}}
	for trials := 1; ; trials++ {
		trial := r.Eval(in.Accepted, candidate(in, withheld))
		add(&work, trial.Work)
		refusals := r.Check(trial)
		found, unresolved := culprits(in, withheld, refusals)
		if len(found) == 0 {
			return decide(trial, withheld, unresolved, trials, work)
		}
		for key, c := range found {
			withheld[key] = r.reject(in, key, c, trial.State)
		}
	}
}

// candidate is the observed view with the withheld objects as last accepted.
func candidate(in Input, withheld map[store.Key]Rejection) store.View {
	if len(withheld) == 0 {
		return in.Observed
	}
	keys := slices.SortedFunc(maps.Keys(withheld), store.Key.Compare)
	return in.Observed.Substitute(in.Accepted.View(), keys...)
}

// stillWithheld keeps a standing rejection while the refused revision is what is
// observed and nothing that its refusal rests on has changed since.
func (r Rules) stillWithheld(in Input) map[store.Key]Rejection {
	kept := make(map[store.Key]Rejection, len(in.Standing))
	for key, rejection := range in.Standing {
		if same(in.Observed, key, rejection.Refused) && rejection.unmoved(in.Observed) {
			kept[key] = rejection
		}
	}
	return kept
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

// cause is why an object is withheld, and what that rests on.
type cause struct {
	steps []verdict.Step
	rests []store.Key
}

// culprits are the objects that this round can withhold for its refusals: those
// named whose observed revision is not yet accepted, or else the suspects.
func culprits(in Input, withheld map[store.Key]Rejection, refusals []Refusal) (map[store.Key]cause, []Refusal) {
	found := map[store.Key]cause{}
	var unresolved []Refusal
	for _, refusal := range refusals {
		open := func(keys []store.Key) []store.Key {
			return slices.DeleteFunc(slices.Clone(keys), func(key store.Key) bool {
				_, out := withheld[key]
				return out || !changed(in, key)
			})
		}
		guilty := open(refusal.Culprits)
		if len(guilty) == 0 && refusal.Suspects != nil {
			guilty = open(refusal.Suspects())
		}
		if len(guilty) == 0 {
			unresolved = append(unresolved, refusal)
		}
		for _, key := range guilty {
			c := found[key]
			c.steps = append(c.steps, refusal.Step)
			c.rests = append(append(append(c.rests, guilty...), refusal.Culprits...), refusal.Step.Related...)
			found[key] = c
		}
	}
	return found, unresolved
}

func changed(in Input, key store.Key) bool {
	accepted, had := in.Accepted.View().Get(key)
	observed, has := in.Observed.Get(key)
	return had != has || !store.Identical(accepted, observed)
}

func (r Rules) reject(in Input, key store.Key, c cause, trial derive.State) Rejection {
	observed, _ := in.Observed.Get(key)
	_, retained := in.Accepted.View().Get(key)
	out := Rejection{Object: key, Refused: observed, Retained: retained, Steps: c.steps, rests: map[store.Key]any{}}
	for _, other := range c.rests {
		if other != key {
			out.rests[other], _ = in.Observed.Get(other)
		}
	}
	if r.Testify != nil {
		out.Evidence = r.Testify(trial, key)
	}
	return out
}

func decide(trial derive.Result, withheld map[store.Key]Rejection, unresolved []Refusal, trials int, work derive.Work) Decision {
	return Decision{
		State: trial.State, Delta: trial.Delta, Rejected: withheld, Unresolved: unresolved,
		Wants: trial.Wants, Faults: trial.Faults, Work: work, Trials: trials,
	}
}

func add(sum *derive.Work, w derive.Work) {
	for node, runs := range w.Functions {
		sum.Functions[node] += runs
	}
	sum.Members += w.Members
	sum.Bytes += w.Bytes
}
