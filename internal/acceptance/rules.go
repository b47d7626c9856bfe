package acceptance

import (
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Refusal is why a trial is not valid: the objects at fault, if that is known, and
// the reason.
type Refusal struct {
	// Culprits are the objects whose revisions are at fault; none are known of what
	// a validator refuses without naming anything.
	Culprits []store.Key
	// Suspects returns everything that what was refused rests on. It is asked, if
	// it is not nil, when no culprit has changed: then one of these must have.
	Suspects func() []store.Key
	Step     verdict.Step
	// By names the validator that refused; empty is Rules.Check.
	By string
	// Final tells that no other object can mend it: the revision stands rejected until
	// it changes itself, or one that was refused together with it.
	Final bool
}

// Trial is a candidate for validators: complete outputs, and what in them differs
// from a state that was accepted.
type Trial struct {
	Base, State derive.State
	Delta       derive.Delta
}

// Answer is a validator's verdict over a Trial. Without refusals it is accepted.
type Answer struct {
	Refusals []Refusal
	// Unavailable is why no verdict could be reached, and empty otherwise. It counts
	// against no object: the round ends with what it has accepted so far.
	Unavailable string
}

// Rules are what a round is made of. All functions but Validate are pure.
type Rules struct {
	// Eval evaluates a view, starting from any earlier state.
	Eval func(from derive.State, view store.View) derive.Result
	// Between returns what differs from one state to another.
	Between func(from, to derive.State) derive.Delta
	// Check judges a trial by what it changes against an accepted state.
	Check func(trial derive.Result) []Refusal
	// Validate judges a trial that passed Check; nil accepts it. It may block.
	Validate func(Trial) Answer
	// Reads returns what the outputs that a trial changes rest on; nil is nothing. What
	// a validator refuses without naming anything is tried again when one of these changes.
	Reads func(trial derive.Result) []store.Key
	// Testify returns what a trial says of one object, to be kept with its
	// rejection: what would be true had it been accepted. Nil keeps nothing.
	Testify func(trial derive.State, object store.Key) any
	// Identity names the object of a key: aliases and API versions of one object
	// have one identity, and are decided together. Keys of no object, which no
	// trial can do without, have the empty one. Nil takes every key for an object.
	Identity func(store.Key) string
	// Created orders objects that are bad only together: the older stays. Nil
	// orders by name alone.
	Created func(value any) (unixNano int64)
	// Fallback is what may serve of an object while its observed revision is
	// withheld: accepted itself, which retains it; nil, which closes it; a value
	// between both; or observed itself, which is never withheld then. It gives what it
	// gave again: Fallback(k, Fallback(k, a, o), o) is Fallback(k, a, o). It is not
	// asked where nothing was accepted. Nil retains.
	Fallback func(key store.Key, accepted, observed any) any
	// Close is what of an object is left when nothing of it may serve, because it
	// expired or because it is not valid beside what fell back. Nil is nothing: the
	// object is absent. What protects others by being there has another form, of which
	// Close is the same again.
	Close func(key store.Key, value any) any
}

// Rejection is an observed revision that is not accepted.
type Rejection struct {
	Object store.Key
	// Refused is the observed value; nil is a deletion that was refused.
	Refused any
	// Retained tells that an earlier accepted revision stays in force; Narrowed, that
	// it does only as far as Rules.Fallback lets it.
	Retained, Narrowed bool
	// Closed tells that an accepted revision served and nothing of the object does
	// now: by Rules.Fallback, because it expired, or because it depends on what did.
	Closed bool
	// Changed tells that the refused revision is another than the one that was accepted
	// last; an object that closed beside others did not change.
	Changed bool
	// Steps say why; never empty.
	Steps []verdict.Step
	// By names the validator that refused it; empty is Rules.Check.
	By string
	// Evidence is what Rules.Testify said of Object in the trial that was refused.
	Evidence any
	// rests are the values of the other objects that the refusal rests on: one of
	// them may be at fault instead, or may mend it.
	rests map[store.Key]any
	// loose tells that no object was named: what is at fault may be elsewhere.
	loose bool
}

// Loose reports whether the refusal names no object. Then what is at fault, or would
// mend it, may be anything, or anything that the output was made from: a round that is
// not Patient, or with Input.Reconsider, finds out.
func (r Rejection) Loose() bool { return r.loose }

// Input is what a round starts from.
type Input struct {
	Observed store.View
	// Accepted is the state that the last round accepted; the zero State at the start.
	Accepted derive.State
	// Standing are the rejections of the last round.
	Standing map[store.Key]Rejection
	// Expired are objects of which no earlier revision may serve any longer: while
	// rejected they are closed.
	Expired map[store.Key]bool
	// Reconsider tries loose rejections again, whatever has changed.
	Reconsider bool
	// Patient lets loose rejections stand although what they rest on has changed, which
	// may be much and often. A later round without it tries them.
	Patient bool
	// Recalled returns the observed view with what an earlier process had accepted in
	// place of what was observed since, and whether there is any. It is asked at the
	// start only, and only if what is observed is not valid as a whole; it may block.
	Recalled func(observed store.View) (store.View, bool)
	// Ended reports whether no further trial may begin: then the round ends as if a
	// validator were unavailable. Nil is never.
	Ended func() bool
}

// Decision is what a round ends with.
type Decision struct {
	// State is the new accepted state; its Delta is against Input.Accepted.
	State derive.State
	Delta derive.Delta
	// Rejected are all rejections that stand now.
	Rejected map[store.Key]Rejection
	// Unresolved are refusals that stand although no object is left that could be
	// withheld to mend them: the values at fault are left out of the outputs.
	Unresolved []Refusal
	// Moved tells that rejections stand only because the Input was Patient.
	Moved bool
	// Unavailable is why a validator gave no verdict: what is observed and neither
	// accepted nor rejected waits for the next round.
	Unavailable string
	// NoBaseline tells that nothing validates, not even without any object: State is
	// Input.Accepted, and nothing new may be published.
	NoBaseline bool
	Wants      []store.Key
	Faults     []derive.Fault
	// Work is the sum over all trials.
	Work derive.Work
	// Trials counts evaluations; 1 when nothing new is at fault.
	Trials int
	// Tried are these trials, in order.
	Tried []Tried
}
