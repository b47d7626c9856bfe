// Package lifecycle decides what becomes of a Proxy and its instance: from the object,
// its user data, what the provider answered and the time, to the next action. It is
// pure: it calls nothing, reads no clock, and the same input gives the same decision.
//
// A pass over one Proxy is a conversation: [Next] names an action, the driver does it
// and adds the outcome to [State], until the action is [Finish]. The laws that hold
// whatever a provider or a store answers:
//
//   - Nothing is created before every scope was searched for an instance of the Proxy.
//   - Nothing is changed outside on the word of a cache: [Refresh] comes first.
//   - Nothing is deleted that does not carry the UID of the Proxy.
//   - Metadata is written before status, and status once a pass, at its end.
package lifecycle

import (
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Step is what a driver is to do next.
type Step int

// Steps. The outcome of each goes to the field of [State] that it names.
const (
	// Refresh reads the Proxy past any cache, into Proxy and Fresh. What else is known is
	// forgotten if the object is another than before.
	Refresh Step = iota + 1
	// ReadInputs reads the Secrets of [SecretNames] and resolves them, into Inputs.
	ReadInputs
	// Get looks at the instance Action.ID, into Got.
	Get
	// Find searches all scopes for instances of the Proxy, into Found.
	Find
	// Create makes the instance of [Request], into Created.
	Create
	// AskOutcome asks what became of the create Action.Operation of Action.ID, into
	// Outcome; nil where the provider cannot tell.
	AskOutcome
	// AskBudget asks [Budget.Grants], and remembers a grant, into Granted.
	AskBudget
	// Drain keeps new leases off the Proxy and counts those left, into Leases.
	Drain
	// Delete deletes the instance Action.ID, into Deleted.
	Delete
	// PatchMetadata writes the metadata of Action.Proxy, which becomes Proxy.
	PatchMetadata
	// Finish ends the pass: the status of Action.Proxy is written if it differs, unless
	// that is nil; look again After, or with growing pauses if there is Err.
	Finish
)

// String returns the step's name.
func (s Step) String() string {
	return [...]string{"none", "refresh", "read inputs", "get", "find", "create", "ask outcome", "ask budget", "drain", "delete", "patch metadata", "finish"}[s]
}

// changes says whether a step, or what it leads to, changes what is outside.
func (s Step) changes() bool {
	return s == Find || s == Create || s == AskOutcome || s == Delete || s == PatchMetadata
}

// Action is one step with what it needs.
type Action struct {
	Do Step
	// Provider is whom to ask, by name.
	Provider string
	// ID and Operation are the provider's.
	ID, Operation string
	// Proxy has the metadata or the status to write. It is a copy.
	Proxy *egress_v1alpha1.Proxy
	// After and Err say when to look again: see Finish.
	After time.Duration
	Err   error
}

// State is what is known during a pass. What is nil is not known yet.
type State struct {
	// Proxy is the object; it is never changed by this package.
	Proxy *egress_v1alpha1.Proxy
	// Fresh says that Proxy was read past any cache.
	Fresh bool
	// Now is the time of the whole pass.
	Now time.Time
	// Providers are the names of those that are configured.
	Providers []string
	// Verdict is what probes of the instance say now; nil for what the status says.
	Verdict *Verdict
	// Doubtful says that so many are unhealthy that it is likely no fault of theirs.
	Doubtful bool
	// Unprobed says that the status has the verdict of another process, which nobody has
	// confirmed since.
	Unprobed bool

	Inputs  *Inputs
	Got     *Answer
	Found   *Found
	Created *Answer
	Outcome *Answer
	Granted *bool
	Leases  *int
	Deleted map[string]error // by ID
}

// Answer is what a provider said of one instance, or that it failed.
type Answer struct {
	Instance provider.Instance
	Err      error
}

// Found is what a search showed. With Err it is not all that there may be.
type Found struct {
	Instances []provider.Instance
	Err       error
}

// Next returns what to do next. Following it ends: no step is asked for twice, but for
// a delete of another instance, other metadata, or after a refresh.
func Next(s *State) Action {
	a := decide(s)
	if !s.Fresh && a.Do.changes() {
		return Action{Do: Refresh}
	}
	return a
}

func decide(s *State) Action {
	switch p := s.Proxy; {
	case p.DeletionTimestamp != nil:
		return deletion(s)
	case p.Spec.Mode == egress_v1alpha1.External:
		return external(s)
	default:
		return managed(s)
	}
}

// external has no instance, no finalizer, and asks no provider anything.
func external(s *State) Action {
	if err := FieldProblem(s.Proxy); err != nil {
		return s.refuse(err)
	}
	d := s.draft()
	if host := s.Proxy.Spec.Endpoint.Host; d.p.Status.IP != host {
		d.unprobed()
		d.p.Status.IP = host
	}
	return d.running(egress_v1alpha1.ReasonExternalEndpoint, "somebody else runs it").finish(0)
}
