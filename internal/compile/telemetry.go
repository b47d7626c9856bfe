package compile

import (
	"cmp"
	"maps"
	"slices"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// telemetryPolicy is an XTelemetryPolicy, whatever Gateways it is for.
type telemetryPolicy struct {
	Created int64
	Targets []string // Gateways, "namespace/name"
	// Tracing lacks what depends on the Gateway; nil is no tracing.
	Tracing   *model.Tracing
	Collector upstream
	Uses      []string // objects that the collector rests on, and permissions
	// Invalid is why the policy is not accepted.
	Invalid *problem
	// Unresolved is why there is no collector.
	Unresolved *problem
	Warnings   []*problem
}

// telemetryTarget is a Gateway that a policy is for.
type telemetryTarget struct {
	Gateway, Policy string
	Created         int64
}

// tracing is what became of one Gateway's tracing.
type tracing struct {
	Gateway   model.GatewayID
	Policy    string // that counts
	Tracing   *model.Tracing
	Collector upstream
	Uses      []string
}

// deriveTelemetry settles what each Gateway tells of its requests, the last that is
// known of the Gateways of the model.
func (b *build) deriveTelemetry(g *derive.Graph, m *model.Collections) {
	b.telemetryStates = derive.Map(g, "telemetry policy", b.in.telemetry, b.readTelemetry)
	b.telemetryTargets = derive.Group(g, "telemetry targets", derive.Expand(g, "telemetry target", b.telemetryStates, telemetryTargets),
		func(_ string, t telemetryTarget) []string { return []string{t.Gateway} })
	b.tracings = derive.Reduce(g, "tracing", b.telemetryTargets, b.trace)
	b.tracingsByUse = derive.Group(g, "tracings by use", b.tracings, func(_ string, t tracing) []string { return t.Uses })
	m.Gateways = derive.Map(g, "model gateway", b.served, b.modelGateway)
}

// readTelemetry reads an XTelemetryPolicy.
func (b *build) readTelemetry(c *derive.Ctx, _ string, policy *gateway_xv1alpha1.XTelemetryPolicy) (telemetryPolicy, bool) {
	out := telemetryPolicy{Created: policy.CreationTimestamp.Unix()}
	if !b.Experimental {
		return out, true
	}
	for i, ref := range policy.Spec.TargetRefs {
		if string(ref.Group) != gatewayGroup || string(ref.Kind) != kindGateway {
			out.Invalid = first(out.Invalid, problemf(verdict.UnsupportedValue, indexed("spec.targetRefs", i)+".kind", "%s of group %q: must be a Gateway", ref.Kind, ref.Group))
			continue
		}
		out.Targets = append(out.Targets, snapshot.NamespacedName(policy.Namespace, string(ref.Name)))
	}
	out.Targets = distinct(out.Targets)
	if len(policy.Spec.TargetRefs) == 0 {
		out.Invalid = problemf(verdict.UnsupportedValue, "spec.targetRefs", "must name a Gateway")
	}
	spec := policy.Spec.Tracing
	switch spec.Mode {
	case gateway_xv1alpha1.TracingModeEnabled:
		b.readTracing(c, policy.Namespace, spec, &out)
	case gateway_xv1alpha1.TracingModeDisabled, gateway_xv1alpha1.TracingModeImplementationDefault, "":
	default:
		out.Invalid = first(out.Invalid, problemf(verdict.UnsupportedValue, "spec.tracing.mode", "%q: must be Enabled, Disabled or ImplementationDefault", spec.Mode))
	}
	return out, true
}

// readTracing reads what is traced, and where it is sent.
func (b *build) readTracing(c *derive.Ctx, namespace string, spec gateway_xv1alpha1.TracingConfig, out *telemetryPolicy) {
	traced, why := readSpans(spec)
	if out.Invalid = first(out.Invalid, why); out.Invalid != nil {
		return
	}
	out.Warnings = unknownAttributes(spec)
	found := b.resolve(c, "spec.tracing.provider.backendRef", referrer{Kind: kindXTelemetryPolicy, Namespace: namespace}, spec.Provider.BackendRef)
	if out.Unresolved = found.Problem; found.Problem != nil {
		return
	}
	out.Collector, out.Uses = found.Cluster, found.Uses
	traced.Collector = found.Cluster.ID
	out.Tracing = traced
}

func telemetryTargets(_ *derive.Ctx, key string, p telemetryPolicy) []derive.Item[telemetryTarget] {
	if p.Invalid != nil {
		return nil
	}
	var items []derive.Item[telemetryTarget]
	for _, gateway := range p.Targets {
		items = append(items, derive.Item[telemetryTarget]{Key: gateway, Value: telemetryTarget{gateway, key, p.Created}})
	}
	return items
}

// telemetryWinner is the policy that counts for a Gateway: the oldest, ties by name.
func (b *build) telemetryWinner(c *derive.Ctx, gateway string) string {
	created := map[string]int64{}
	for _, item := range derive.All(c, b.telemetryTargets, gateway) {
		created[item.Value.Policy] = item.Value.Created
	}
	return eldest(slices.Collect(maps.Keys(created)), func(name string) int64 { return created[name] })
}

// trace settles the tracing of one Gateway that is accepted.
func (b *build) trace(c *derive.Ctx, gateway string) (tracing, bool) {
	s, _ := derive.Get(c, b.served, gateway)
	if !s.Accepted {
		return tracing{}, false
	}
	out := tracing{Gateway: model.GatewayID(gateway), Policy: b.telemetryWinner(c, gateway)}
	p, _ := derive.Get(c, b.telemetryStates, out.Policy)
	if p.Tracing == nil {
		return out, true
	}
	out.Tracing = new(*p.Tracing)
	out.Tracing.Origins = []model.Ref{telemetryRef(out.Policy)}
	out.Tracing.Service = cmp.Or(out.Tracing.Service, gateway)
	out.Collector, out.Uses = p.Collector, p.Uses
	return out, true
}

func telemetryRef(name string) store.Key {
	return store.Key{Collection: kindXTelemetryPolicy, Name: name}
}

// telemetryFinding decides over an XTelemetryPolicy.
func (b *build) telemetryFinding(c *derive.Ctx, key string, policy *gateway_xv1alpha1.XTelemetryPolicy) (Finding, bool) {
	self := telemetryRef(key)
	if !b.Experimental {
		return exclude(self, disabled(snapshot.FeatureExperimental)), true
	}
	at, _ := derive.Get(c, b.telemetryStates, key)
	status := &Status{}
	var good, bad []verdict.Step
	for i, gateway := range at.Targets {
		why, owed := b.telemetryAt(c, indexed("spec.targetRefs", i), key, gateway)
		if why != nil {
			bad = append(bad, why.step(verdict.Warning))
		} else {
			good = append(good, ok(verdict.Referenced, telemetryEffect(gateway, at)))
		}
		if !owed {
			continue
		}
		conditions := conditions{generation: policy.Generation}
		conditions.judge(typeAccepted, string(gateway_v1.PolicyReasonAccepted), "the policy is in force", policyProblem(first(at.Invalid, why)))
		conditions.judge(typeResolvedRefs, string(gateway_xv1alpha1.TelemetryPolicyReasonResolvedRefs), "every reference is resolved", at.Unresolved)
		status.Ancestors = append(status.Ancestors, AncestorStatus{Gateway: gateway, Conditions: conditions.list})
	}
	finding := telemetryUse(self, at, good, bad)
	finding.Status = status
	return finding, true
}

// telemetryUse puts together what a policy does at its Gateways.
func telemetryUse(self store.Key, at telemetryPolicy, good, bad []verdict.Step) Finding {
	if at.Invalid != nil {
		return fail(self, at.Invalid)
	}
	if len(good) == 0 {
		finding := exclude(self, problemf(verdict.NotReferenced, "spec.targetRefs", "the policy has no effect at any Gateway"))
		finding.Steps = append(finding.Steps, bad...)
		return finding
	}
	steps := slices.Concat(good, bad)
	if at.Unresolved != nil {
		steps = append(steps, at.Unresolved.step(verdict.Warning))
	}
	if at.Tracing == nil {
		steps = append(steps, ok(verdict.Redundant, "without a policy a Gateway traces nothing either"))
	}
	return serve(self, append(steps, warnings(at.Warnings)...)...)
}

func telemetryEffect(gateway string, at telemetryPolicy) string {
	if at.Tracing == nil {
		return "Gateway " + gateway + " traces nothing"
	}
	return "Gateway " + gateway + " sends its traces to " + at.Collector.Origin.String()
}

// telemetryAt is why a policy has no effect at one Gateway, and whether the policy
// is owed a status for it.
func (b *build) telemetryAt(c *derive.Ctx, field, key, gateway string) (why *problem, owed bool) {
	ref := gatewayRef(model.GatewayID(gateway))
	managed, exists := derive.Get(c, b.managed, gateway)
	switch {
	case !exists:
		return problemf(verdict.TargetNotFound, field, "Gateway %s does not exist", gateway).about(ref), true
	case !managed:
		return problemf(verdict.OtherController, field, "Gateway %s belongs to another controller, or to none", gateway).about(ref), false
	}
	if winner := b.telemetryWinner(c, gateway); winner != key && winner != "" {
		return outranked(field, telemetryRef(winner), ref.String()), true
	}
	if traced, is := derive.Get(c, b.tracings, gateway); !is || traced.Policy != key {
		return problemf(verdict.ParentNotServing, field, "Gateway %s does not serve at present", gateway).about(ref), true
	}
	return nil, true
}
