package verdict

import "github.com/gatehouse-proxy/gatehouse/pkg/store"

// Ref names an object: its kind and "namespace/name", or "name" when cluster-scoped.
type Ref = store.Key

// State is what became of an object, in one word.
type State string

// States of an object.
const (
	Serving  State = "Serving"  // compiled, published, and acknowledged by every proxy that needs it
	Partial  State = "Partial"  // serving, but some part of it is not; the steps say which
	Excluded State = "Excluded" // accepted and without effect, for a reason that Gateway API defines
	Rejected State = "Rejected" // not accepted; its previous accepted revision, if any, stays in force
	Pending  State = "Pending"  // on its way to the proxies
)

// Stage is where in the pipeline a step was taken.
type Stage string

// Stages in pipeline order.
const (
	Watch     Stage = "watch"
	Accept    Stage = "accept"
	Compile   Stage = "compile"
	Translate Stage = "translate"
	Publish   Stage = "publish"
)

// Stages of a fleet, after Watch and Accept.
const (
	Create  Stage = "create"
	Run     Stage = "run"
	Replace Stage = "replace"
	Probe   Stage = "probe"
	Offer   Stage = "offer"
	Lease   Stage = "lease"
	Delete  Stage = "delete"
	Wait    Stage = "wait"
)

// Outcome is how a step ended.
type Outcome string

// Outcomes of a step.
const (
	OK           Outcome = "ok"
	Warning      Outcome = "warning"  // has an effect, and an operator should look
	WasExcluded  Outcome = "excluded" // this part has no effect
	WasRejected  Outcome = "rejected"
	StillPending Outcome = "pending"
)

// Step is one decision about an object.
type Step struct {
	Stage   Stage   `json:"stage"`
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"` // a Reason's Name
	// Message says what, why, and what to do, in one line.
	Message string `json:"message"`
	// Field is the path of the field decided over, for example "spec.rules[0].matches[0].path.value".
	Field   string `json:"field,omitempty"`
	Related []Ref  `json:"related,omitempty"`
}
