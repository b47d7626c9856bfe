package compile

import (
	"fmt"
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// httpFinding decides over an HTTPRoute.
func (b *build) httpFinding(c *derive.Ctx, key string, route *gateway_v1.HTTPRoute) (Finding, bool) {
	return b.webFinding(c, httpIdent+key, route.Spec.CommonRouteSpec, route.Generation)
}

// webFinding decides over a route of a kind that shares hosts with others.
func (b *build) webFinding(c *derive.Ctx, ident string, spec gateway_v1.CommonRouteSpec, generation int64) (Finding, bool) {
	a, _ := derive.Get(c, b.webAttachments, ident)
	r, _ := derive.Get(c, b.rules, ident)
	var shares []share
	for _, item := range derive.All(c, b.sharesByRoute, ident) {
		shares = append(shares, item.Value)
	}
	v := routeVerdict{attachment: a, rules: r.Rules, accepted: r.accepted(), spec: spec}
	for _, s := range shares {
		v.serves = v.serves || s.Entries > 0
	}
	v.attached = func(j joint) bool { return j.Accepted && derive.Has(c, b.tableSpecs, string(j.table())) }
	v.shut = func(j joint) bool { return b.shut(c, j.section) }
	v.late = shadows(ident, shares)
	finding := v.finding(routeRef(ident))
	finding.Status = &Status{Parents: v.parents(generation)}
	return finding, true
}

// shadows are the warnings of matches that can never be reached: one for each
// rule and winner, naming the hosts.
func shadows(self string, shares []share) []verdict.Step {
	hosts := map[string][]string{}
	first := map[string]shadow{}
	for _, s := range shares {
		for _, lost := range s.Shadows {
			key := lost.Rule + "|" + lost.Winner + "|" + lost.WinningRule
			hosts[key] = append(hosts[key], s.Domain)
			first[key] = lost
		}
	}
	var steps []verdict.Step
	for key, lost := range sortedMap(first) {
		who := fmt.Sprintf("rule %q of %s", lost.WinningRule, lost.Winner)
		if lost.Winner == self {
			who = fmt.Sprintf("rule %q of the same route", lost.WinningRule)
		}
		why := problemf(verdict.Shadowed, "spec.rules", "a match of rule %q is never reached on %s: an equal one of %s goes before it",
			lost.Rule, strings.Join(distinct(hosts[key]), ", "), who)
		if lost.Winner != self {
			why = why.about(routeRef(lost.Winner))
		}
		steps = append(steps, why.step(verdict.Warning))
	}
	return steps
}

// routeVerdict is what is known of a route of any kind before it is put in words.
type routeVerdict struct {
	attachment attachment
	rules      []rule
	accepted   bool // by what it says, wherever it attaches
	serves     bool
	// attached tells whether a listener that the route is attached to serves.
	attached func(joint) bool
	// shut tells whether the listener lets no request in; nil is never.
	shut func(joint) bool
	late []verdict.Step
	spec gateway_v1.CommonRouteSpec
}

// finding puts the decisions over a route in order: where it attaches, what is
// wrong with its rules, what is never reached.
func (v routeVerdict) finding(self store.Key) Finding {
	var steps []verdict.Step
	for _, p := range v.attachment.Parents {
		steps = append(steps, v.parentSteps(p)...)
	}
	for _, note := range v.attachment.Notes {
		steps = append(steps, note.step(verdict.Warning))
	}
	switch {
	case v.attachment.Missing != nil:
		steps = append(steps, v.attachment.Missing.step(verdict.WasExcluded))
	case len(v.attachment.Parents) == 0:
		steps = append(steps, problemf(verdict.ParentNotFound, "spec.parentRefs", "no parentRefs: the route attaches to no Gateway").step(verdict.WasExcluded))
	}
	failed := v.refused()
	for _, r := range v.rules {
		steps = append(steps, r.steps(failed)...)
	}
	steps = append(steps, v.late...)
	f := Finding{Object: self, Serves: v.serves, Steps: steps, Failed: failed, Rules: len(v.rules), Partly: v.accepted && slices.ContainsFunc(v.rules, rule.failed)}
	for _, r := range v.rules {
		if why := r.fault(); why != nil {
			f.Dropped = append(f.Dropped, RuleOf(why.Field))
		}
	}
	switch {
	case v.serves:
		foreign(f.Steps)
	case !failed:
		f.Steps = excludeAll(f.Steps)
	}
	return f
}

// refused tells whether a value that nothing is specified for is at fault. A rule
// that fails closed has a specified outcome.
func (v routeVerdict) refused() bool {
	for _, p := range v.attachment.Parents {
		if p.Problem != nil && p.Problem.Reason.Class == verdict.FailureClass {
			return true
		}
	}
	return !v.accepted && slices.ContainsFunc(v.rules, rule.failed)
}

func (v routeVerdict) parentSteps(p parent) []verdict.Step {
	if p.Problem != nil {
		return []verdict.Step{p.Problem.step(v.refusal(p))}
	}
	var steps []verdict.Step
	for _, j := range p.Joints {
		if j.empty() {
			continue
		}
		if !v.attached(j) {
			steps = append(steps, problemf(verdict.ParentNotServing, p.field(), "%s does not serve", j.title()).
				about(parentKey(p)).step(verdict.WasExcluded))
			continue
		}
		steps = append(steps, ok(verdict.Attached, p.words(j), parentKey(p)))
		if v.shut != nil && v.shut(j) {
			steps = append(steps, problemf(verdict.ParentNotServing, p.field(), "%s has a filter that cannot be applied, so that its requests answer 500: see its conditions", j.title()).
				about(parentKey(p)).step(verdict.WasExcluded))
		}
	}
	return append(steps, warnings(p.Notes)...)
}

// refusal is what becomes of a route for the problem of a parent alone. Which of the
// routes that ask for it a default Gateway takes is its own affair, once another takes it.
func (v routeVerdict) refusal(p parent) verdict.Outcome {
	switch {
	case p.Problem.Reason.Class == verdict.FailureClass:
		return verdict.WasRejected
	case p.ByDefault && v.serves && v.attachment.Defaulted:
		return verdict.OK
	default:
		return verdict.WasExcluded
	}
}

// empty tells that other listeners have every domain that the route has here.
func (j joint) empty() bool { return j.named() && len(j.Meetings) == 0 }

// words say where a route attaches.
func (p parent) words(j joint) string {
	at := fmt.Sprintf("gateway %s listener %s", j.Gateway, j.Name)
	if p.ByDefault {
		at = "default " + at
	}
	if j.Set != "" {
		at = fmt.Sprintf("gateway %s ListenerSet %s listener %s", j.Gateway, j.Set, j.Name)
	}
	if !j.named() {
		return at
	}
	var domains []string
	for _, m := range j.Meetings {
		domains = append(domains, m.Domain)
	}
	return at + ": serves " + strings.Join(domains, ", ")
}

// steps are the decisions over one rule; of a failed route they are why it is refused.
func (r rule) steps(failed bool) []verdict.Step {
	var steps []verdict.Step
	switch {
	case r.Invalid != nil && failed:
		steps = append(steps, r.Invalid.step(verdict.WasRejected))
	case r.Invalid != nil:
		steps = append(steps, r.Invalid.step(verdict.WasExcluded))
	case r.Closed != nil:
		steps = append(steps, r.Closed.step(verdict.WasExcluded))
	}
	outcome := verdict.Warning
	if r.Dark {
		outcome = verdict.WasExcluded
	}
	for _, p := range r.Unresolved {
		steps = append(steps, p.step(outcome))
	}
	return append(steps, warnings(r.Warnings)...)
}

// foreign makes nothing of parents that are the business of others, once the route
// serves here.
func foreign(steps []verdict.Step) {
	for i, s := range steps {
		if s.Reason == verdict.OtherController.Name || s.Reason == verdict.UnsupportedParent.Name {
			steps[i].Outcome = verdict.OK
		}
	}
}

// excludeAll makes sure that an object without effect has a step that says so.
func excludeAll(steps []verdict.Step) []verdict.Step {
	excluded := false
	for i, s := range steps {
		if s.Reason == verdict.Shadowed.Name || s.Reason == verdict.ListenerIsolation.Name || s.Reason == verdict.Conflicted.Name {
			steps[i].Outcome = verdict.WasExcluded
		}
		excluded = excluded || steps[i].Outcome == verdict.WasExcluded
	}
	if excluded {
		return steps
	}
	return append(steps, problemf(verdict.NoBackends, "spec.rules", "the route has no rule that could be served").step(verdict.WasExcluded))
}
