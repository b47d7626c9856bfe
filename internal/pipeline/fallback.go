package pipeline

import (
	"fmt"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/status"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// fallsBack reports whether a change of a route is refused because the revision that
// is accepted has every rule, and the new one only some. Where there is none such the
// new one is served without its bad rules.
func fallsBack(c derive.Change[compile.Finding]) bool {
	return c.Has && c.New.Partly && c.Had && !c.Old.Partly && !c.Old.Failed
}

// partlyFailing are the steps about rules for which a route falls back.
func partlyFailing(f compile.Finding) []verdict.Step {
	var out []verdict.Step
	for _, s := range f.Steps {
		reason, _ := verdict.ReasonNamed(s.Reason)
		if reason.Class == verdict.FailureClass && slices.Contains(f.Dropped, compile.RuleOf(s.Field)) {
			s.Outcome = verdict.WasRejected
			out = append(out, s)
		}
	}
	return out
}

// partly reports whether some but not all rules of a rejected route are at fault, as
// far as its refusal names them.
func partly(why []verdict.Step, f compile.Finding) bool {
	bad := map[string]bool{}
	for _, rule := range f.Dropped {
		bad[rule] = true
	}
	for _, s := range why {
		rule := compile.RuleOf(s.Field)
		if rule == "" {
			return false
		}
		bad[rule] = true
	}
	return !f.Failed && len(bad) < f.Rules
}

// refusedStatus is the status of a rejected revision, whose trial gave it a finding.
func (r *Reporter) refusedStatus(at *published, key store.Key, rejection acceptance.Rejection, f compile.Finding) verdict.Status {
	cause, serves := explain(rejection.Steps[0]), r.serves(at, key, rejection)
	accepted, _ := r.graph.Compiled.Findings.Lookup(at.state, key)
	if !rejection.Retained || accepted.Status == nil || !partly(rejection.Steps, f) {
		return status.Refused(*f.Status, cause, serves)
	}
	return status.FellBack(*f.Status, *accepted.Status, status.Fallback{Generation: generationOf(rejection.Refused), Cause: cause, Serves: serves})
}

// serves says what is in force of an object whose revision is rejected.
func (r *Reporter) serves(at *published, key store.Key, rejection acceptance.Rejection) string {
	switch {
	case rejection.Retained:
		return serving(generationIn(at.state.View(), key), rejection.Narrowed)
	case rejection.Closed:
		return "nothing of it serves any more"
	default:
		return "nothing of it serves"
	}
}

func serving(generation int64, narrowed bool) string {
	text := "the previous revision keeps serving"
	if generation > 0 {
		text = fmt.Sprintf("generation %d keeps serving", generation)
	}
	if narrowed {
		text += " as far as the rejected one lets it"
	}
	return text
}

// kept says what is in force of an object whose document is refused.
func (r *Reporter) kept(at *published, f snapshot.Finding) string {
	if f.Retained {
		return serving(generationIn(at.state.View(), f.Object), false)
	}
	return "nothing of it serves"
}

func generationIn(view store.View, key store.Key) int64 {
	value, _ := view.Get(key)
	return generationOf(value)
}

func generationOf(value any) int64 {
	if object, ok := value.(snapshot.Object); ok {
		return object.GetGeneration()
	}
	return 0
}
