package model

import (
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// UnknownModelError is a name that no model has.
type UnknownModelError struct {
	Model lab.Model
	Known []lab.Model
}

func (e *UnknownModelError) Error() string {
	return fmt.Sprintf("no model %q: %s", string(e.Model), choose(string(e.Model), "the models are ", texts(e.Known)))
}

// OperationError is an operation that a model does not have, or a Kind that is no
// change of a backend.
type OperationError struct {
	Operation string // ApplyStreamEvent, StageForReload or Reload
	Model     lab.Model
	Kind      lab.Kind
}

func (e *OperationError) Error() string {
	if e.Kind != lab.Add && e.Kind != lab.Remove {
		return fmt.Sprintf("%s takes no event %q: use %q or %q", e.Operation, string(e.Kind), string(lab.Add), string(lab.Remove))
	}
	remedy := "ApplyStreamEvent"
	if e.Model == lab.ModelReload {
		remedy = "StageForReload and Reload"
	}
	return fmt.Sprintf("the %s model has no %s: use %s", e.Model, e.Operation, remedy)
}

// SpecError is a name of a model that cannot be run.
type SpecError struct {
	Name            string // as asked for
	Problem, Remedy string
}

func (e *SpecError) Error() string { return e.Name + ": " + e.Problem + ": " + e.Remedy }

// EventError is an event that a model cannot play.
type EventError struct {
	Name            string // of the model, as asked for
	Event           lab.Event
	Problem, Remedy string
}

func (e *EventError) Error() string {
	where := ""
	if e.Event.Line > 0 {
		where = fmt.Sprintf("line %d: ", e.Event.Line)
	}
	return fmt.Sprintf("%s: %s%s at %gs %s: %s", e.Name, where, e.Event.Kind, e.Event.At.Seconds(), e.Problem, e.Remedy)
}

// choose says what else name could have been: the closest of all, and all.
func choose(name, intro string, all []string) string {
	remedy := intro + strings.Join(all, ", ")
	if near, ok := spelling.Closest(name, all); ok {
		remedy = fmt.Sprintf("did you mean %q? ", near) + remedy
	}
	return remedy
}

func texts(models []lab.Model) (all []string) {
	for _, m := range models {
		all = append(all, string(m))
	}
	return all
}
