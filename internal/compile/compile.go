package compile

import (
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Options are the static part of a compilation.
type Options struct {
	ControllerName string
	// Experimental and XBackend open kinds and fields; an object behind a closed
	// switch is excluded with reason FeatureDisabled.
	Experimental, XBackend bool
}

// Outputs are what compile adds to a graph.
type Outputs struct {
	Model model.Collections
	// Findings are by key "Kind ns/name": one for every object of the view, without exception.
	Findings derive.Collection[Finding]
}

// Finding is what compile decided over one object.
type Finding struct {
	Object store.Key
	// Serves tells whether any part of the object contributes to the model.
	Serves bool
	// Failed tells that the revision is a candidate for rejection: some step has
	// a reason of verdict.FailureClass that no defined outcome covers.
	Failed bool
	// Steps are never empty when Serves is false.
	Steps []verdict.Step
	// Status is the object's status without what only acknowledgements can tell
	// (Programmed) and without lastTransitionTime; nil for kinds without status.
	Status *Status
}

// Build adds the compilation to a graph.
func Build(g *derive.Graph, o Options) Outputs { panic("todo") }
