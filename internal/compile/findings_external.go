package compile

import (
	"strings"

	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// externalFinding decides over an XBackend.
func (b *build) externalFinding(c *derive.Ctx, key string, object *gateway_xv1alpha1.XBackend) (Finding, bool) {
	self := store.Key{Collection: kindXBackend, Name: key}
	if !b.XBackend {
		return exclude(self, disabled(snapshot.FeatureXBackend)), true
	}
	at, _ := derive.Get(c, b.externals, key)
	finding := b.externalUse(c, self, at)
	finding.Steps = append(finding.Steps, warnings(at.Warnings)...)
	status := conditions{generation: object.Generation}
	status.judge(typeAccepted, string(gateway_xv1alpha1.BackendReasonAccepted), "the Gateway forwards to it", policyProblem(at.Problem))
	finding.Status = atEach(b.gatewaysUsing(c, self.String()), status)
	return finding, true
}

func (b *build) externalUse(c *derive.Ctx, self store.Key, at externalBackend) Finding {
	switch {
	case at.Failed:
		return fail(self, at.Problem)
	case at.Problem != nil:
		return exclude(self, at.Problem)
	case !b.usedBySomething(c, self.String()):
		return exclude(self, problemf(verdict.NotReferenced, "", "no route that serves forwards to it"))
	case at.Selector != "" && len(b.selectedServices(c, at.Selector)) == 0:
		_, labels, _ := strings.Cut(at.Selector, "|")
		return serve(self, ok(verdict.Referenced, "routes that serve forward to it"), problemf(verdict.NoReadyEndpoints, "spec.endpointSelector.matchLabels",
			"no Service of its namespace selects by %s: Pods are known by the EndpointSlices of such Services only; requests answer 503", strings.ReplaceAll(labels, "|", " and ")).step(verdict.Warning))
	default:
		return serve(self, ok(verdict.Referenced, "routes that serve forward to it"))
	}
}

func disabled(by snapshot.Feature) *problem {
	return problemf(verdict.FeatureDisabled, "", "the switch %s is off: turn it on and restart", by)
}
