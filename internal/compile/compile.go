package compile

import (
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Options are the static part of a compilation.
type Options struct {
	ControllerName string
	// Experimental and XBackend open kinds and fields; an object behind a closed
	// switch is excluded with reason FeatureDisabled.
	Experimental, XBackend bool
	// BindAddress is where listeners of a Gateway without spec.addresses are bound.
	// It tells which Gateways want the same port; the zero Addr conflicts with
	// no other address.
	BindAddress netip.Addr
}

// Outputs are what compile adds to a graph.
type Outputs struct {
	Model model.Collections
	// Findings has one for every object of the view, without exception.
	Findings Findings
}

// Finding is what compile decided over one object.
type Finding struct {
	Object store.Key
	// Serves tells whether any part of the object contributes to the model.
	Serves bool
	// Failed tells that the revision is a candidate for rejection: some step has
	// a reason of verdict.FailureClass that no defined outcome covers.
	Failed bool
	// Rules is how many rules a route has; Dropped are those that are not implemented, in
	// order, for example "spec.rules[1]".
	Rules   int
	Dropped []string
	// Partly tells that some but not all rules of a route have a value that nothing is
	// specified for: they are dropped unless an earlier revision without such a value can
	// stay in force. It depends on nothing but the route.
	Partly bool
	// Steps are never empty when Serves is false.
	Steps []verdict.Step
	// Status is the object's status without what only acknowledgements can tell
	// (Programmed) and without lastTransitionTime; nil for kinds without status.
	Status *Status
	// Expires is the end of the validity of the first certificate to expire that
	// the object serves with; zero without one. Whoever reads a clock warns of it.
	Expires time.Time
}
