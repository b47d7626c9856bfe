package verdict

// Class says whether a reason is an outcome that Gateway API defines, or a
// failure, which makes the revision a candidate for rejection.
type Class string

// Classes of reasons.
const (
	OutcomeClass Class = "outcome" // the object is accepted and the specified behaviour is served
	FailureClass Class = "failure" // the specification leaves it open: the revision may be rejected
	InfoClass    Class = "info"    // says how far a good object has come
)

// Reason is one documented cause. The set of all is All; docs/reference has a
// generated page of them.
type Reason struct {
	Name    string // CamelCase; equals the Gateway API condition reason where there is one
	Class   Class
	Meaning string
	Remedy  string // what to do; empty for InfoClass
}

// Step returns a step with this reason, its message in one line.
func (r Reason) Step(stage Stage, outcome Outcome, message string, related ...Ref) Step {
	return Step{Stage: stage, Outcome: outcome, Reason: r.Name, Message: OneLine(message), Related: related}
}

// At returns the step with the path of the field decided over.
func (s Step) At(field string) Step {
	s.Field = OneLine(field)
	return s
}

// Unexplained marks a hole in the compiler: an object without a decision.
var Unexplained = Reason{
	Name: "Unexplained", Class: FailureClass,
	Meaning: "No stage gave a reason for leaving the object out. This is a bug in Gatehouse.",
	Remedy:  "Report it with the output of 'gatehouse why' and the object.",
}
