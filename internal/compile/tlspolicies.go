package compile

import (
	"cmp"
	"slices"

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
		out.Warnings = append(out.Warnings, problemf(verdict.NoEffect, "spec.options", "options belong to other implementations; Gatehouse defines none"))
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
	return eldest(all, func(name string) int64 {
		p, _ := derive.Get(c, b.policyStates, name)
		return p.Created
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
	targets := policyTargets(key, policy)
	losses := losses(self, targets, func(target string) string {
		winner, _ := b.policiesOf(c, target)
		return winner
	})
	conflict := outright(losses, len(targets))
	why, astray := conflict, b.policyAstray(c, policy)
	if why == nil && len(astray) > 0 && !b.usedBySomething(c, self.String()) {
		why, astray = astray[0], astray[1:]
	}
	finding := b.policyUse(c, self, at, why)
	finding.Steps = append(finding.Steps, warnings(slices.Concat(at.Warnings, astray))...)
	if conflict == nil {
		finding.Steps = append(finding.Steps, warnings(losses)...)
	}
	status := conditions{generation: policy.Generation}
	status.judge(typeAccepted, string(gateway_v1.PolicyReasonAccepted), "the policy is in force", policyProblem(first(conflict, at.Invalid)))
	status.judge(typeResolvedRefs, string(gateway_v1.BackendTLSPolicyReasonResolvedRefs), "every reference is resolved", at.Unresolved)
	finding.Status = atEach(b.gatewaysUsing(c, self.String()), status)
	return finding, true
}

func (b *build) policyUse(c *derive.Ctx, self store.Key, at tlsPolicy, lost *problem) Finding {
	used := b.usedBySomething(c, self.String())
	switch why := at.failure(); {
	case !used && at.Invalid != nil && at.Invalid.Reason.Name == verdict.UnsupportedValue.Name:
		return exclude(self, at.Invalid)
	case lost != nil:
		return exclude(self, lost)
	case !used:
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to what it is for"))
	case why != nil:
		return serve(self, why.step(verdict.Warning))
	default:
		return serve(self, ok(verdict.Referenced, "routes that serve forward by TLS to what it is for"))
	}
}

// policyAstray are the targets that a BackendTLSPolicy has no effect on: what a
// mistyped name was to protect is reached in clear.
func (b *build) policyAstray(c *derive.Ctx, policy *gateway_v1.BackendTLSPolicy) []*problem {
	var out []*problem
	for i, ref := range policy.Spec.TargetRefs {
		field, name := indexed("spec.targetRefs", i), snapshot.NamespacedName(policy.Namespace, string(ref.Name))
		ports, known, exists := b.portNames(c, target{string(ref.Group), string(ref.Kind), policy.Namespace, string(ref.Name)})
		section := string(orElse(ref.SectionName, ""))
		switch {
		case !known:
			out = append(out, problemf(verdict.NoEffect, field+".kind", "%s of group %q: a BackendTLSPolicy is for Services and ServiceImports", ref.Kind, ref.Group))
		case !exists:
			out = append(out, problemf(verdict.TargetNotFound, field, "%s %s does not exist", ref.Kind, name))
		case section != "" && !slices.Contains(ports, section):
			out = append(out, problemf(verdict.TargetNotFound, field+".sectionName", "%s %s has no port named %q", ref.Kind, name, section))
		}
	}
	return out
}

// portNames are the names of the ports of a Service or ServiceImport; other kinds
// are not known.
func (b *build) portNames(c *derive.Ctx, to target) (names []string, known, exists bool) {
	name := snapshot.NamespacedName(to.Namespace, to.Name)
	switch {
	case to.is("", kindService):
		service, found := derive.Get(c, b.in.services, name)
		if found {
			for _, p := range service.Spec.Ports {
				names = append(names, p.Name)
			}
		}
		return names, true, found
	case to.is(mcsGroup, kindServiceImport):
		object, found := derive.Get(c, b.in.imports, name)
		if found {
			for _, p := range object.Spec.Ports {
				names = append(names, p.Name)
			}
		}
		return names, true, found
	default:
		return nil, false, false
	}
}
