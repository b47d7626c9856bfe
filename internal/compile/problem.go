package compile

import (
	"fmt"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// problem is why some part of an object is not as its author wants it, before it
// is known whether that excludes the object or only deserves a warning.
type problem struct {
	Reason  verdict.Reason
	Field   string
	Message string
	Related []store.Key
}

func problemf(reason verdict.Reason, field, format string, args ...any) *problem {
	return &problem{Reason: reason, Field: field, Message: verdict.OneLine(fmt.Sprintf(format, args...))}
}

// about adds objects that the problem is about besides its own.
func (p *problem) about(related ...store.Key) *problem {
	p.Related = append(p.Related, related...)
	return p
}

// step is the problem as a decision with this outcome.
func (p *problem) step(outcome verdict.Outcome) verdict.Step {
	return p.Reason.Step(verdict.Compile, outcome, p.Message, p.Related...).At(p.Field)
}

// warnings are problems that exclude nothing.
func warnings(problems []*problem) []verdict.Step {
	var steps []verdict.Step
	for _, p := range problems {
		steps = append(steps, p.step(verdict.Warning))
	}
	return steps
}

// sentence is the problem with its field, for a condition's message.
func (p *problem) sentence() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}

// first returns the first problem that there is.
func first(problems ...*problem) *problem {
	for _, p := range problems {
		if p != nil {
			return p
		}
	}
	return nil
}

func ok(reason verdict.Reason, message string, related ...store.Key) verdict.Step {
	return reason.Step(verdict.Compile, verdict.OK, message, related...)
}
