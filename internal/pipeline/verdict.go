package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/compile"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/translate/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// join makes the verdict of one object out of what every stage knows of it.
type join struct {
	reporter *Reporter
	at       *published
	key      store.Key

	finding   compile.Finding
	compiled  bool
	rejection *acceptance.Rejection
	refused   []snapshot.Finding // why the source refused the document of the object
	others    []snapshot.Finding // what it says of documents beside the one that counts
	faults    []derive.Fault
}

func (r *Reporter) join(at *published, key store.Key) join {
	j := join{reporter: r, at: at, key: key}
	j.finding, j.compiled = r.graph.Compiled.Findings.Lookup(at.state, key)
	if rejection, ok := at.rejected[key]; ok {
		j.rejection = &rejection
	}
	j.refused, j.others = r.board.refusals(key)
	j.faults = at.faults[key]
	return j
}

// seen reports whether any stage knows the object.
func (j join) seen() bool {
	_, observed := j.at.observed.Get(j.key)
	return observed || j.compiled || len(j.refused) > 0 || j.rejection != nil
}

func (j join) verdict(now time.Time) verdict.Verdict {
	resources := j.resources()
	proxies := j.reporter.belief(resources)
	v := verdict.Verdict{
		Object: j.object(), Steps: j.steps(now, resources, proxies),
		Resources: names(resources), Proxies: proxies.Proxies,
	}
	v.State = j.state(resources, proxies)
	return v
}

func (j join) object() verdict.Object {
	kind, _ := snapshot.KindOf(j.key.Collection)
	namespace, name := snapshot.SplitName(j.key.Name)
	return verdict.Object{
		Group: kind.Group, Kind: j.key.Collection, Namespace: namespace, Name: name,
		Generation: j.reporter.generation(j.at, j.key),
	}
}

// state is the whole story in one word; the worst part decides.
func (j join) state(resources []scoped, proxies belief) verdict.State {
	switch {
	case j.undecided():
		return verdict.Pending
	case j.rejection != nil, len(j.refused) > 0, !j.compiled && len(j.faults) > 0, j.compiled && j.finding.Failed:
		return verdict.Rejected
	case !j.finding.Serves:
		return verdict.Excluded
	case refusedAll(resources, proxies.Refused):
		return verdict.Rejected
	case len(proxies.Refused) > 0 || j.lacks():
		return verdict.Partial
	case len(resources) > 0 && (proxies.Total == 0 || proxies.Acknowledged < proxies.Total):
		return verdict.Pending
	default:
		return verdict.Serving
	}
}

// refusedAll tells that nothing of an object was taken in its present form.
func refusedAll(resources []scoped, refusals []verdict.Refusal) bool {
	refused := map[verdict.Resource]bool{}
	for _, r := range refusals {
		refused[r.Resource] = true
	}
	return len(refused) > 0 && len(refused) >= len(names(resources))
}

// lacks reports whether some part of an object does not serve.
func (j join) lacks() bool {
	return len(j.faults) > 0 || len(j.failed()) > 0 || j.compiled && slices.ContainsFunc(j.finding.Steps, partial)
}

func partial(s verdict.Step) bool {
	return s.Outcome == verdict.WasExcluded || s.Outcome == verdict.WasRejected
}

func (j join) steps(now time.Time, resources []scoped, proxies belief) []verdict.Step {
	steps := []verdict.Step{j.watched()}
	steps = append(steps, j.acceptSteps(now)...)
	for _, f := range j.others {
		step := f.Step
		step.Outcome, step.Message = verdict.Warning, place(f.Origin)+": "+step.Message
		steps = append(steps, step)
	}
	for _, f := range j.faults {
		steps = append(steps, verdict.InternalError.Step(verdict.Compile, verdict.WasExcluded, fmt.Sprintf(
			"%q failed on what depends on this object: %v; please report this as a bug", f.Node, f.Panic)))
	}
	steps = append(steps, j.failed()...)
	if j.compiled {
		steps = append(steps, j.compileSteps()...)
		steps = append(steps, expiry(j.finding.Expires, now)...)
	}
	if len(resources) > 0 {
		steps = append(steps, translated(resources))
		steps = append(steps, j.lackingSteps(resources)...)
		steps = append(steps, publishSteps(proxies)...)
	}
	return steps
}

func (j join) watched() verdict.Step {
	message := fmt.Sprintf("seen at revision %d", j.at.observed.Revision())
	if o, ok := j.reporter.board.origin(j.key); ok {
		message = fmt.Sprintf("seen in %s at revision %d", place(o), j.at.observed.Revision())
	} else if len(j.refused) > 0 {
		message = "seen in " + place(j.refused[0].Origin)
	}
	return verdict.Seen.Step(verdict.Watch, verdict.OK, message)
}

// place is a file and, where it is known, a line.
func place(o snapshot.Origin) string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

func (j join) acceptSteps(now time.Time) []verdict.Step {
	switch {
	case len(j.refused) > 0:
		var steps []verdict.Step
		for _, f := range j.refused {
			steps = append(steps, f.Step)
		}
		return append(steps, j.besideDocument(j.refused[0], now))
	case j.rejection != nil && !j.undecided():
		return append(slices.Clone(j.rejection.Steps), j.inForce(now))
	case j.undecided():
		return []verdict.Step{verdict.Undecided.Step(verdict.Accept, verdict.StillPending, j.waiting())}
	default:
		return []verdict.Step{verdict.Accepted.Step(verdict.Accept, verdict.OK, j.reporter.acceptedSince(j.key, now))}
	}
}

// failed are the outputs that cannot be made for a reason that names the object:
// what was made of them before serves on.
func (j join) failed() []verdict.Step {
	var steps []verdict.Step
	for _, index := range j.reporter.graph.failures {
		for _, output := range derive.Bucket(j.at.state, index, envoy.Origin(j.key)) {
			for _, f := range output.Failures {
				if slices.Contains(f.Origins, j.key) {
					steps = append(steps, failureStep(f))
				}
			}
		}
	}
	return steps
}

func (j join) compileSteps() []verdict.Step {
	if len(j.finding.Steps) == 0 {
		return []verdict.Step{verdict.Compiled.Step(verdict.Compile, verdict.OK, "contributes to the configuration")}
	}
	steps := slices.Clone(j.finding.Steps)
	for i, s := range steps {
		if s.Outcome != verdict.OK {
			steps[i].Message += j.notMissing(s.Related)
		}
	}
	return steps
}

// notMissing says which of the objects that a step calls missing do exist, and are
// rejected: they are missing from what is accepted only.
func (j join) notMissing(related []verdict.Ref) string {
	var out strings.Builder
	for _, ref := range related {
		refused, _ := j.reporter.board.refusals(ref)
		if _, rejected := j.at.rejected[ref]; rejected || len(refused) > 0 {
			fmt.Fprintf(&out, " (%s %s is rejected: ask why of it)", ref.Collection, ref.Name)
		}
	}
	return out.String()
}
