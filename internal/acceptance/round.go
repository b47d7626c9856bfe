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
	// Culprits are the objects whose revisions the check names; never empty.
	Culprits []store.Key
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
	// Trial is the evaluation that was refused; what it says of Object is what
	// would be true had it been accepted.
	Trial derive.State
}

// Rules are what a round is made of. Both functions are pure.
type Rules struct {
	// Eval evaluates a view, starting from any earlier state.
	Eval func(from derive.State, view store.View) derive.Result
	// Check judges a trial by what it changes against the accepted state. Refusals
	// must name culprits; a trial without refusals is valid.
	Check func(trial derive.Result) []Refusal
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
		found, unresolved := culprits(in, withheld, refusals, trial.State)
		if len(found) == 0 {
			return decide(trial, withheld, unresolved, trials, work)
		}
		maps.Copy(withheld, found)
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
// observed and nothing that its refusal related to has changed since.
func (r Rules) stillWithheld(in Input) map[store.Key]Rejection {
	kept := make(map[store.Key]Rejection, len(in.Standing))
	for key, rejection := range in.Standing {
		if same(in.Observed, key, rejection.Refused) && !relatedChanged(in.Observed, rejection) {
			kept[key] = rejection
		}
	}
	return kept
}

func same(view store.View, key store.Key, value any) bool {
	now, _ := view.Get(key)
	return store.Identical(now, value)
}

func relatedChanged(now store.View, rejection Rejection) bool {
	then := rejection.Trial.View()
	for _, step := range rejection.Steps {
		for _, ref := range step.Related {
			value, _ := then.Get(ref)
			if !same(now, ref, value) {
				return true
			}
		}
	}
	return false
}

// culprits are the objects named by refusals that this round can withhold: those
// whose observed revision is not yet accepted.
func culprits(in Input, withheld map[store.Key]Rejection, refusals []Refusal, trial derive.State) (map[store.Key]Rejection, []Refusal) {
	found := map[store.Key]Rejection{}
	var unresolved []Refusal
	for _, refusal := range refusals {
		named := false
		for _, key := range refusal.Culprits {
			if _, out := withheld[key]; out || !changed(in, key) {
				continue
			}
			named = true
			found[key] = reject(in, key, found[key].Steps, refusal.Step, trial)
		}
		if !named {
			unresolved = append(unresolved, refusal)
		}
	}
	return found, unresolved
}

func changed(in Input, key store.Key) bool {
	accepted, had := in.Accepted.View().Get(key)
	observed, has := in.Observed.Get(key)
	return had != has || !store.Identical(accepted, observed)
}

func reject(in Input, key store.Key, steps []verdict.Step, step verdict.Step, trial derive.State) Rejection {
	observed, _ := in.Observed.Get(key)
	_, retained := in.Accepted.View().Get(key)
	return Rejection{Object: key, Refused: observed, Retained: retained, Steps: append(steps, step), Trial: trial}
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
