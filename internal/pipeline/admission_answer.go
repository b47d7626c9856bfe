package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// WorthALook tells steps that whoever writes an object would want to hear of. They fail
// nothing: that other objects are missing is normal for a part of a configuration.
func WorthALook(s verdict.Step) bool {
	return s.Outcome == verdict.Warning || s.Outcome == verdict.WasExcluded && s.Reason != verdict.NotReferenced.Name
}

// untried is the answer without a trial: to a proposal that is not valid by itself, or
// that changes nothing.
func (d *draft) untried() admin.Admission {
	out := admin.Admission{Admitted: !d.refused(), Objects: d.objects, Findings: d.findings}
	if d.refused() {
		out.Reason = admin.RefusedInvalid
	}
	return out
}

func (d *draft) throttled(namespace string, wait time.Duration) admin.Admission {
	of := "objects without a namespace have"
	if namespace != "" {
		of = fmt.Sprintf("namespace %s has", namespace)
	}
	return admin.Admission{
		Objects: d.objects, Reason: admin.RefusedBudget, RetryAfter: wait,
		Message: fmt.Sprintf("%s spent all %d trials of proposals; %d more come each second: ask again later, or propose objects together", of, budgetBurst, budgetPerSec),
	}
}

// answer says what a trial came to, as why would.
func (a *Admitter) answer(d *draft, result acceptance.Admission, trials int) admin.Admission {
	out := admin.Admission{Admitted: result.Admitted(), Objects: d.objects, Trials: trials, Warnings: a.unasked(result)}
	switch {
	case out.Admitted:
		out.Findings = slices.Concat(a.own(d, result), a.others(d, result))
	case result.Unavailable != "":
		out.Reason, out.RetryAfter = admin.RefusedUnavailable, time.Second
		out.Message = "no verdict without a validator that is required: " + result.Unavailable
	default:
		out.Findings = a.refusals(d, result)
		out.Reason = reasonOf(result, out.Findings)
	}
	if result.Unready {
		out.RetryAfter = time.Second
		out.Message = "what was observed last is not decided yet, and is not valid; ask again"
	}
	return out
}

func reasonOf(result acceptance.Admission, findings []admin.ProposalFinding) string {
	switch {
	case result.Unready:
		return admin.RefusedUnready
	case slices.ContainsFunc(findings, func(f admin.ProposalFinding) bool { return !f.Other }):
		return admin.RefusedInvalid
	default:
		return admin.RefusedConflict
	}
}

// unasked names validators whose verdict is not in the answer.
func (a *Admitter) unasked(result acceptance.Admission) []string {
	var out []string
	for _, j := range a.judges {
		why := a.board.whyUnavailable(j.Name())
		if why != "" && !j.Required && j.concerns(result.Delta) {
			out = append(out, fmt.Sprintf("the validator %q was not asked, it is unavailable: %s", j.Name(), why))
		}
	}
	return out
}

// own are the warnings about a proposal's own objects.
func (a *Admitter) own(d *draft, result acceptance.Admission) []admin.ProposalFinding {
	var out []admin.ProposalFinding
	for _, e := range d.edits {
		finding, _ := a.graph.Compiled.Findings.Lookup(result.State, e.Key)
		for _, step := range finding.Steps {
			if WorthALook(step) {
				out = append(out, admin.ProposalFinding{ObjectName: nameOf(e.Key), Step: step})
			}
		}
	}
	return out
}

// manyOthers is how many warnings about other objects there are in an answer.
const manyOthers = 20

// others are the warnings about other objects that they would not have without the
// proposal.
func (a *Admitter) others(d *draft, result acceptance.Admission) []admin.ProposalFinding {
	var out []admin.ProposalFinding
	for c := range a.graph.Compiled.Findings.Changes(result.Delta) {
		if !c.Has || d.proposes(c.New.Object) {
			continue
		}
		for _, step := range c.New.Steps {
			if !WorthALook(step) || slices.ContainsFunc(c.Old.Steps, func(s verdict.Step) bool { return says(s, step) }) {
				continue
			}
			if len(out) == manyOthers {
				return out
			}
			out = append(out, a.other(c.New.Object, step, false))
		}
	}
	return out
}

func says(a, b verdict.Step) bool {
	return a.Reason == b.Reason && a.Field == b.Field && a.Message == b.Message && a.Outcome == b.Outcome
}

func (a *Admitter) other(key store.Key, step verdict.Step, fails bool) admin.ProposalFinding {
	out := admin.ProposalFinding{ObjectName: nameOf(key), Step: step, Fails: fails, Other: true}
	if origin, ok := a.board.origin(key); ok {
		out.Where = place(origin)
	}
	return out
}

// refusals are why a proposal is not admitted.
func (a *Admitter) refusals(d *draft, result acceptance.Admission) []admin.ProposalFinding {
	var out []admin.ProposalFinding
	add := func(key store.Key, step verdict.Step) {
		if d.proposes(key) {
			out = append(out, admin.ProposalFinding{ObjectName: nameOf(key), Step: step, Fails: true})
		} else {
			out = append(out, a.other(key, step, true))
		}
	}
	for _, r := range result.Refused {
		for _, step := range r.Steps {
			add(r.Object, step)
		}
	}
	for _, refusal := range result.Unresolved {
		key := store.Key{}
		if len(refusal.Culprits) > 0 {
			key = refusal.Culprits[0]
		}
		add(key, refusal.Step)
	}
	return out
}

func (d *draft) proposes(key store.Key) bool {
	return slices.ContainsFunc(d.edits, func(e store.Edit) bool { return e.Key == key })
}

// countAdmission adds one verdict to the metrics.
func countAdmission(m *observe.Metrics, a admin.Admission, err error, took time.Duration) {
	result := "admitted"
	switch {
	case err != nil:
		result = "unanswered"
	case !a.Admitted:
		result = "refused"
	}
	m.Admissions.WithLabelValues(result).Inc()
	m.AdmissionSeconds.Observe(took.Seconds())
}
