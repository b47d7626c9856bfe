package render

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Name returns "namespace/name", or the name alone of a cluster-scoped object.
func Name(o verdict.Object) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// Verdicts returns one line for each object: its state, and why if it is not serving.
func Verdicts(s Style, all []verdict.Verdict) string {
	t := Table{Header: []string{"NAME", "GENERATION", "STATE", "PROXIES", "WHY"}}
	for _, v := range all {
		proxies := "-"
		if v.Proxies.Total > 0 {
			proxies = fmt.Sprintf("%d/%d", v.Proxies.Acknowledged, v.Proxies.Total)
		}
		t.Rows = append(t.Rows, []Cell{
			T(Name(v.Object)), T(fmt.Sprint(v.Object.Generation)),
			{string(v.State), stateMarks[v.State].color},
			T(proxies), T(worst(v.Steps)),
		})
	}
	return t.Render(s)
}

// badness orders outcomes.
var badness = map[verdict.Outcome]int{
	verdict.WasRejected: 4, verdict.WasExcluded: 3, verdict.Warning: 2, verdict.StillPending: 1,
}

// worst returns the first of the worst steps, without what follows from it.
func worst(steps []verdict.Step) string {
	var at verdict.Step
	for _, step := range steps {
		if badness[step.Outcome] > badness[at.Outcome] {
			at = step
		}
	}
	if badness[at.Outcome] == 0 {
		return ""
	}
	message, _, _ := strings.Cut(at.Message, " → ")
	return fielded(at.Field, message)
}

// condition is the part of a condition that people read.
type condition struct {
	Type, Status, Reason, Message string
}

// objectStatus is what the kinds' statuses have in common.
type objectStatus struct {
	Status struct {
		Conditions []condition
		Listeners  []struct {
			Name           string
			AttachedRoutes int32
			Conditions     []condition
		}
		Parents []struct {
			ParentRef  parentRef
			Conditions []condition
		}
		Ancestors []struct {
			AncestorRef parentRef
			Conditions  []condition
		}
	}
}

type parentRef struct {
	Kind, Namespace, Name, SectionName string
	Port                               int32
}

func (p parentRef) String() string {
	kind := strings.ToLower(p.Kind)
	if kind == "" {
		kind = "gateway"
	}
	name := p.Name
	if p.Namespace != "" {
		name = p.Namespace + "/" + name
	}
	if p.SectionName != "" {
		name += " listener " + p.SectionName
	}
	if p.Port != 0 {
		name += fmt.Sprintf(" port %d", p.Port)
	}
	return kind + " " + name
}

// Conditions returns the conditions of one object, with whom they are about. It
// is empty for an object without any.
func Conditions(s Style, object json.RawMessage) (string, error) {
	var o objectStatus
	if err := json.Unmarshal(object, &o); err != nil {
		return "", fmt.Errorf("the object's status is not of a known shape: %w", err)
	}
	t := Table{Header: []string{"OF", "CONDITION", "STATUS", "REASON", "MESSAGE"}}
	t.add("object", o.Status.Conditions)
	for _, l := range o.Status.Listeners {
		t.add("listener "+l.Name, l.Conditions)
	}
	for _, p := range o.Status.Parents {
		t.add(p.ParentRef.String(), p.Conditions)
	}
	for _, a := range o.Status.Ancestors {
		t.add(a.AncestorRef.String(), a.Conditions)
	}
	return t.Render(s), nil
}

// goodWhenFalse are conditions that are bad news when true.
var goodWhenFalse = map[string]bool{"Conflicted": true, "PartiallyInvalid": true, "OverlappingTLSConfig": true}

func (t *Table) add(of string, conditions []condition) {
	for _, c := range conditions {
		color := Green
		if (c.Status == "True") == goodWhenFalse[c.Type] {
			color = Yellow
		}
		t.Rows = append(t.Rows, []Cell{T(of), T(c.Type), {c.Status, color}, T(c.Reason), T(c.Message)})
		of = ""
	}
}

// Object returns the one line that the conditions of an object stand under.
func Object(s Style, v verdict.Verdict) string {
	var b strings.Builder
	b.WriteString(s.Paint(Bold, s.Text(v.Object.Kind+" "+Name(v.Object))))
	if v.Object.Generation > 0 {
		fmt.Fprintf(&b, "  generation %d", v.Object.Generation)
	}
	fmt.Fprintf(&b, "  %s\n\n", s.State(v.State))
	return b.String()
}
