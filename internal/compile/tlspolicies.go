package compile

import (
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// policyTargets are the Services, or ports of Services, that a BackendTLSPolicy is for.
func policyTargets(key string, policy *gateway_v1.BackendTLSPolicy) []string {
	namespace, _ := snapshot.SplitName(key)
	var out []string
	for _, ref := range policy.Spec.TargetRefs {
		if ref.Group == "" && ref.Kind == kindService {
			out = append(out, derive.JoinKey(snapshot.NamespacedName(namespace, string(ref.Name)), string(orElse(ref.SectionName, ""))))
		}
	}
	return distinct(out)
}

// tlsPolicies are the policies for a port of a Service, by name of the port or all.
func (b *build) tlsPolicies(c *derive.Ctx, service target, port string) []store.Key {
	sections := []string{""}
	if port != "" {
		sections = append(sections, port)
	}
	var out []store.Key
	for _, section := range sections {
		for _, name := range derive.Keys(c, b.policiesByTarget, derive.JoinKey(service.name(), section)) {
			out = append(out, store.Key{Collection: kindBackendTLSPolicy, Name: name})
		}
	}
	return out
}

// policyFinding decides over a BackendTLSPolicy: until it is served, its effect is
// that what it is for is not forwarded to.
func (b *build) policyFinding(c *derive.Ctx, key string, _ *gateway_v1.BackendTLSPolicy) (Finding, bool) {
	self := store.Key{Collection: kindBackendTLSPolicy, Name: key}
	if b.usedBySomething(c, self.String()) {
		why := problemf(verdict.NotYetSupported, "spec.targetRefs", "not served yet: requests for the Services it is for answer 500 rather than go in clear")
		return serve(self, why.step(verdict.Warning)), true
	}
	return exclude(self, problemf(verdict.NotYetSupported, "", "BackendTLSPolicies are not served yet, and no route that serves forwards to what it is for")), true
}

func keysOf(objects []store.Key) []string {
	out := make([]string, len(objects))
	for i, o := range objects {
		out[i] = o.String()
	}
	return out
}
