package compile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// trafficPolicy is an XBackendTrafficPolicy, wherever it applies.
type trafficPolicy struct {
	Created int64
	Session *session
	Budget  model.RetryBudget
	Invalid *problem
}

// What a retry constraint has where it says nothing.
const (
	defaultBudget   = 20 // percent
	defaultInterval = 10 * time.Second
	defaultRetries  = 10 // a second
)

// readTraffic reads an XBackendTrafficPolicy.
func (b *build) readTraffic(_ *derive.Ctx, key string, policy *gateway_xv1alpha1.XBackendTrafficPolicy) (trafficPolicy, bool) {
	out := trafficPolicy{Created: policy.CreationTimestamp.Unix()}
	if !b.Experimental {
		return out, true
	}
	for i, ref := range policy.Spec.TargetRefs {
		if _, known := trafficTarget(policy.Namespace, ref); !known {
			out.Invalid = first(out.Invalid, problemf(verdict.UnsupportedValue, indexed("spec.targetRefs", i)+".kind", "%s of group %q: must be a Service, a ServiceImport or an XBackend", ref.Kind, ref.Group))
		}
	}
	out.Session = readSession("spec.sessionPersistence", kindXBackendTrafficPolicy+" "+key, policy.Spec.SessionPersistence) //nolint:staticcheck // deprecated, and served all the same
	if out.Session != nil {
		out.Invalid = first(out.Invalid, out.Session.Problem)
	}
	if policy.Spec.RetryConstraint != nil {
		var why *problem
		out.Budget, why = readBudget("spec.retryConstraint", *policy.Spec.RetryConstraint)
		out.Invalid = first(out.Invalid, why)
	}
	return out, true
}

// readBudget reads how many retries a backend may get. Proxies count retries that are
// under way: a rate is taken for as many at a time as it has in a second.
func readBudget(field string, spec gateway_xv1alpha1.RetryConstraint) (model.RetryBudget, *problem) {
	out := model.RetryBudget{Percent: defaultBudget, Interval: defaultInterval, Least: defaultRetries}
	var why, whyRate *problem
	if budget := spec.Budget; budget != nil {
		percent := orElse(budget.Percent, defaultBudget)
		if percent < 0 || percent > 100 {
			return out, problemf(verdict.UnsupportedValue, field+".budget.percent", "%d: must be between 0 and 100", percent)
		}
		out.Percent = uint32(percent)
		if budget.Interval != nil {
			out.Interval, why = readDuration(field+".budget.interval", budget.Interval)
		}
	}
	if spec.MinRetryRate != nil {
		out.Least, whyRate = readLeast(field+".minRetryRate", *spec.MinRetryRate)
	}
	return out, first(why, whyRate)
}

func readLeast(field string, spec gateway_xv1alpha1.RequestRate) (uint32, *problem) {
	count, interval := orElse(spec.Count, defaultRetries), time.Second
	if count < 1 || count > 1_000_000 {
		return 0, problemf(verdict.UnsupportedValue, field+".count", "%d: must be between 1 and 1000000", count)
	}
	if spec.Interval != nil {
		d, why := readDuration(field+".interval", spec.Interval)
		if why == nil && d == 0 {
			why = problemf(verdict.UnsupportedValue, field+".interval", "%q: must be above 0", *spec.Interval)
		}
		if why != nil {
			return 0, why
		}
		interval = d
	}
	return uint32(min(math.MaxInt32, math.Ceil(float64(count)/interval.Seconds()))), nil
}

// trafficTarget is the backend that a policy names, by "Kind namespace/name".
func trafficTarget(namespace string, ref gateway_v1.LocalPolicyTargetReference) (string, bool) {
	to := target{Group: string(ref.Group), Kind: string(ref.Kind), Namespace: namespace, Name: string(ref.Name)}
	return to.String(), to.is("", kindService) || to.is(mcsGroup, kindServiceImport) || to.is(gatewayXGroup, kindXBackend)
}

// trafficTargets are the backends that a policy is for.
func trafficTargets(_ string, policy *gateway_xv1alpha1.XBackendTrafficPolicy) []string {
	var out []string
	for _, ref := range policy.Spec.TargetRefs {
		if name, known := trafficTarget(policy.Namespace, ref); known {
			out = append(out, name)
		}
	}
	return distinct(out)
}

// trafficWinner is the policy that counts for a backend: the oldest that is valid, ties
// by name.
func (b *build) trafficWinner(c *derive.Ctx, backend string) string {
	created := map[string]int64{}
	var valid []string
	for _, name := range derive.Keys(c, b.trafficByTarget, backend) {
		if p, _ := derive.Get(c, b.trafficStates, name); p.Invalid == nil {
			valid, created[name] = append(valid, name), p.Created
		}
	}
	return eldest(valid, func(name string) int64 { return created[name] })
}

// regulate lays the policy for a backend that speaks HTTP over what is known of it.
func (b *build) regulate(c *derive.Ctx, from referrer, to target, found *backend) {
	if !b.Experimental || found.Problem != nil || found.Cluster.Protocol == model.UpstreamTCP || from.datagrams() || from.Kind == kindXTelemetryPolicy {
		return
	}
	name := b.trafficWinner(c, to.String())
	policy, _ := derive.Get(c, b.trafficStates, name)
	if name == "" {
		return
	}
	self := trafficRef(name).String()
	if policy.Budget != (model.RetryBudget{}) {
		found.Cluster.Retries = policy.Budget
		found.Uses = append(found.Uses, self)
	}
	if policy.Session != nil && found.Session == nil {
		found.Session, found.SessionBy = policy.Session, self
	}
}

func trafficRef(name string) store.Key {
	return store.Key{Collection: kindXBackendTrafficPolicy, Name: name}
}

// trafficFinding decides over an XBackendTrafficPolicy.
func (b *build) trafficFinding(c *derive.Ctx, key string, policy *gateway_xv1alpha1.XBackendTrafficPolicy) (Finding, bool) {
	self := trafficRef(key)
	if !b.Experimental {
		return exclude(self, disabled(snapshot.FeatureExperimental)), true
	}
	at, _ := derive.Get(c, b.trafficStates, key)
	targets := trafficTargets(key, policy)
	losses := losses(self, targets, func(target string) string { return b.trafficWinner(c, target) })
	missing := b.trafficMissing(c, policy)
	lost := outright(losses, len(targets))
	finding := b.trafficUse(c, self, at, first(lost, first(missing...)))
	if finding.Serves {
		finding.Steps = slices.Concat(finding.Steps, warnings(losses), warnings(missing))
	}
	if at.Session != nil && finding.Serves {
		finding.Steps = append(finding.Steps, warnings(at.Session.Warnings)...)
	}
	var gateways []string
	for _, to := range targets {
		gateways = append(gateways, b.gatewaysUsing(c, to)...)
	}
	status := conditions{generation: policy.Generation}
	status.judge(typeAccepted, string(gateway_v1.PolicyReasonAccepted), "the policy is accepted", policyProblem(first(at.Invalid, lost)))
	finding.Status = atEach(distinct(gateways), status)
	return finding, true
}

func (b *build) trafficUse(c *derive.Ctx, self store.Key, at trafficPolicy, unused *problem) Finding {
	switch {
	case at.Invalid != nil:
		return fail(self, at.Invalid)
	case b.usedBySomething(c, self.String()):
		return serve(self, ok(verdict.Referenced, at.words()))
	case unused != nil:
		return exclude(self, unused)
	case at.Session == nil && at.Budget == (model.RetryBudget{}):
		return exclude(self, problemf(verdict.NotReferenced, "spec", "the policy asks for nothing"))
	default:
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to what it is for, or each says otherwise itself"))
	}
}

// words say what a policy does.
func (p trafficPolicy) words() string {
	var parts []string
	if p.Session != nil {
		parts = append(parts, "sessions of rules that have none themselves")
	}
	if p.Budget != (model.RetryBudget{}) {
		parts = append(parts, fmt.Sprintf("retries up to %d%% of the requests of %s, or %d at a time", p.Budget.Percent, p.Budget.Interval, p.Budget.Least))
	}
	return "routes that serve have its " + strings.Join(parts, ", and ")
}

// trafficMissing are the targets that do not exist.
func (b *build) trafficMissing(c *derive.Ctx, policy *gateway_xv1alpha1.XBackendTrafficPolicy) []*problem {
	var out []*problem
	for i, ref := range policy.Spec.TargetRefs {
		name := snapshot.NamespacedName(policy.Namespace, string(ref.Name))
		var exists bool
		switch string(ref.Kind) {
		case kindService:
			exists = derive.Has(c, b.in.services, name)
		case kindServiceImport:
			exists = derive.Has(c, b.in.imports, name)
		default:
			exists = derive.Has(c, b.in.externals, name)
		}
		if !exists {
			out = append(out, problemf(verdict.TargetNotFound, indexed("spec.targetRefs", i), "%s %s does not exist", ref.Kind, name))
		}
	}
	return out
}
