package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Admitter judges proposals against what really runs, and changes nothing. It is safe
// for concurrent use.
type Admitter interface {
	// Admit judges a proposal. It returns before ctx ends or soon after; the error is a
	// *NoVerdictError when no verdict was reached.
	Admit(ctx context.Context, p Proposal) (Admission, error)
}

// Proposal is what somebody wants to save: all of it together, or nothing.
type Proposal struct {
	// Objects to create or update, each as an API server would get it.
	Objects []json.RawMessage `json:"objects,omitempty"`
	// Deletions are objects to delete.
	Deletions []ObjectName `json:"deletions,omitempty"`
}

// ObjectName names an object: its kind and "namespace/name", or the name alone where
// the kind has no namespaces.
type ObjectName struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Changes that a proposal makes to an object.
const (
	ChangeCreate = "create"
	ChangeUpdate = "update"
	ChangeDelete = "delete"
	ChangeNone   = "none"    // it is so already
	ChangeOther  = "foreign" // of another controller, or of a kind that is not observed
)

// Why a proposal is not admitted.
const (
	RefusedInvalid     = "Invalid"            // an object of it is not valid
	RefusedConflict    = "Conflict"           // it is valid, and would make others invalid
	RefusedUnready     = "Undecided"          // something else that was just observed is invalid; try again
	RefusedBudget      = "TooManyRequests"    // its namespace has spent its trials; try again
	RefusedUnavailable = "ServiceUnavailable" // a validator that is required gave no verdict; try again
)

// Admission is the verdict over a proposal.
type Admission struct {
	Admitted bool `json:"admitted"`
	// Reason is why not; empty if it is admitted.
	Reason string `json:"reason,omitempty"`
	// Message is what there is to say of the proposal as a whole, in one line.
	Message string `json:"message,omitempty"`
	// RetryAfter is set where the same proposal may be admitted later.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Objects are what it would change, in its order.
	Objects []ProposedObject `json:"objects"`
	// Findings are what is wrong or worth a look: of its objects first, then of others
	// that it would make worse.
	Findings []ProposalFinding `json:"findings"`
	// Warnings concern the verdict itself, for example a validator that was not asked.
	Warnings []string `json:"warnings,omitempty"`
	// Trials is how many evaluations it took.
	Trials int `json:"trials"`
}

// ProposedObject is an object of a proposal.
type ProposedObject struct {
	ObjectName
	Change string `json:"change"`
}

// ProposalFinding is one step of what would be the verdict of an object.
type ProposalFinding struct {
	ObjectName
	Step verdict.Step `json:"step"`
	// Fails tells that the proposal is not admitted for it; others are warnings.
	Fails bool `json:"fails"`
	// Other tells that the object is none of the proposal's.
	Other bool `json:"other,omitempty"`
	// Where is the place of such an object, for example "shop/routes.yaml:18".
	Where string `json:"where,omitempty"`
}

// Line says object, field, value, cause and remedy in one line.
func (f ProposalFinding) Line() string {
	text := f.Step.Message
	if f.Step.Field != "" {
		text = f.Step.Field + ": " + text
	}
	if remedy := Remedy(f.Step); remedy != "" {
		text += " → " + remedy
	}
	object := strings.TrimSpace(strings.ToLower(f.Kind) + " " + f.Name)
	switch {
	case f.Other && f.Where != "":
		object += " (" + f.Where + ")"
	case object == "":
		return text
	}
	if f.Other && f.Fails {
		object = "would reject " + object
	}
	return object + " " + text
}

// NoVerdictError is the error when a proposal was not judged: whoever asked decides
// what that means, as an API server does by failurePolicy.
type NoVerdictError struct {
	Why string // one line, with the remedy
	// RetryAfter is when to ask again.
	RetryAfter time.Duration
}

func (e *NoVerdictError) Error() string { return fmt.Sprintf("no verdict: %s", e.Why) }
