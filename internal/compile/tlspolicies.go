package compile

import (
	"cmp"
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// policyFeatures are the features of Gateway API that this file compiles.
var policyFeatures = featureNames{
	features.SupportBackendTLSPolicy,
	features.SupportBackendTLSPolicySANValidation,
	features.SupportClusterTrustBundle,
}

// tlsPolicy is a BackendTLSPolicy, wherever it applies.
type tlsPolicy struct {
	Created int64
	trust
	Warnings []*problem
}

// readPolicy reads a BackendTLSPolicy.
func (b *build) readPolicy(c *derive.Ctx, _ string, policy *gateway_v1.BackendTLSPolicy) (tlsPolicy, bool) {
	out := tlsPolicy{Created: policy.CreationTimestamp.Unix(), trust: b.readTrust(c, "spec.validation", policy.Namespace, policy.Spec.Validation)}
	if len(policy.Spec.Options) > 0 {
		out.Warnings = append(out.Warnings, problemf(verdict.NotYetSupported, "spec.options", "no option is known here; they have no effect"))
	}
	return out, true
}

// policyTargets are the Services and ServiceImports, or ports of them, that a
// BackendTLSPolicy is for: "Kind namespace/name|port".
func policyTargets(key string, policy *gateway_v1.BackendTLSPolicy) []string {
	namespace, _ := snapshot.SplitName(key)
	var out []string
	for _, ref := range policy.Spec.TargetRefs {
		to := target{string(ref.Group), string(ref.Kind), namespace, string(ref.Name)}
		if to.is("", kindService) || to.is(mcsGroup, kindServiceImport) {
			out = append(out, derive.JoinKey(to.String(), string(orElse(ref.SectionName, ""))))
		}
	}
	return distinct(out)
}

// policiesFor are the policies for a port of a Service: that which counts, by
// name, and all of them. One for the port goes before one for all ports.
func (b *build) policiesFor(c *derive.Ctx, service, port string) (winner string, all []string) {
	if port != "" {
		winner, all = b.policiesOf(c, derive.JoinKey(service, port))
	}
	general, others := b.policiesOf(c, derive.JoinKey(service, ""))
	return cmp.Or(winner, general), append(all, others...)
}

// policiesOf are the policies of one target: the older goes first, ties by name.
func (b *build) policiesOf(c *derive.Ctx, target string) (winner string, all []string) {
	all = slices.Clone(derive.Keys(c, b.policiesByTarget, target))
	if len(all) == 0 {
		return "", nil
	}
	return slices.MinFunc(all, func(x, y string) int {
		p, _ := derive.Get(c, b.policyStates, x)
		q, _ := derive.Get(c, b.policyStates, y)
		return cmp.Or(cmp.Compare(p.Created, q.Created), strings.Compare(x, y))
	}), all
}

// secure finds how a port of a Service is to be verified; nil is not at all.
func (b *build) secure(c *derive.Ctx, service target, port string) (by *tlsPolicy, name string, uses []string) {
	winner, all := b.policiesFor(c, service.String(), port)
	for _, policy := range all {
		uses = append(uses, policyRef(policy).String())
	}
	if winner == "" {
		return nil, "", nil
	}
	found, _ := derive.Get(c, b.policyStates, winner)
	return &found, winner, append(uses, found.Uses...)
}

func policyRef(name string) store.Key { return store.Key{Collection: kindBackendTLSPolicy, Name: name} }

// policyFinding decides over a BackendTLSPolicy.
func (b *build) policyFinding(c *derive.Ctx, key string, policy *gateway_v1.BackendTLSPolicy) (Finding, bool) {
	self := policyRef(key)
	at, _ := derive.Get(c, b.policyStates, key)
	conflict := b.policyConflict(c, key, policy)
	finding := b.policyUse(c, self, at, conflict)
	for _, w := range at.Warnings {
		finding.Steps = append(finding.Steps, w.step(verdict.Warning))
	}
	finding.Status = &Status{}
	for _, gateway := range b.gatewaysUsing(c, self.String()) {
		conditions := conditions{generation: policy.Generation}
		conditions.judge(typeAccepted, string(gateway_v1.PolicyReasonAccepted), "the policy is in force", policyProblem(first(conflict, at.Invalid)))
		conditions.judge(typeResolvedRefs, string(gateway_v1.BackendTLSPolicyReasonResolvedRefs), "every reference is resolved", at.Unresolved)
		finding.Status.Ancestors = append(finding.Status.Ancestors, AncestorStatus{Gateway: gateway, Conditions: conditions.list})
	}
	return finding, true
}

// policyProblem is a problem in the words that Gateway API has for policies.
func policyProblem(p *problem) *problem {
	if p == nil || p.Reason.Name != verdict.UnsupportedValue.Name {
		return p
	}
	same := *p
	same.Reason.Name = string(gateway_v1.PolicyReasonInvalid)
	return &same
}

func (b *build) policyUse(c *derive.Ctx, self store.Key, at tlsPolicy, conflict *problem) Finding {
	used := b.usedBySomething(c, self.String())
	switch why := at.failure(); {
	case !used && at.Invalid != nil && at.Invalid.Reason.Name == verdict.UnsupportedValue.Name:
		return exclude(self, at.Invalid)
	case conflict != nil:
		return exclude(self, conflict)
	case !used:
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to what it is for"))
	case why != nil:
		return serve(self, why.step(verdict.Warning))
	default:
		return serve(self, ok(verdict.Referenced, "routes that serve forward by TLS to what it is for"))
	}
}

// policyConflict is why the policy counts for none of its targets.
func (b *build) policyConflict(c *derive.Ctx, key string, policy *gateway_v1.BackendTLSPolicy) *problem {
	var lost *problem
	for _, target := range policyTargets(key, policy) {
		winner, _ := b.policiesOf(c, target)
		if winner == key {
			return nil
		}
		service, _, _ := strings.Cut(target, "|")
		lost = first(lost, problemf(verdict.Conflicted, "spec.targetRefs", "BackendTLSPolicy %s, which is older or first by name, is for %s", winner, service).about(policyRef(winner)))
	}
	return lost
}

// gatewaysUsing are the Gateways at which something that serves rests on an object.
func (b *build) gatewaysUsing(c *derive.Ctx, key string) []string {
	var out []string
	for _, item := range derive.All(c, b.sharesByUse, key) {
		out = append(out, string(item.Value.Gateway))
	}
	for _, item := range derive.All(c, b.streamsByUse, key) {
		out = append(out, string(item.Value.Gateway))
	}
	for _, item := range derive.All(c, b.tracingsByUse, key) {
		out = append(out, string(item.Value.Gateway))
	}
	return distinct(out)
}
