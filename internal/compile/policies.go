package compile

import (
	"cmp"
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// These functions are for policies of every kind.

// eldest is the one of several policies that counts: the oldest, ties by name; empty
// where there is none.
func eldest(names []string, created func(name string) int64) string {
	if len(names) == 0 {
		return ""
	}
	return slices.MinFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(created(x), created(y)), strings.Compare(x, y))
	})
}

// losses are the targets for which another policy of the kind counts. A target is
// "Kind namespace/name", and "|" with what comes after it is a part of the object.
func losses(self store.Key, targets []string, winner func(target string) string) []*problem {
	var lost []*problem
	for _, target := range targets {
		if name := winner(target); name != self.Name && name != "" {
			object, _, _ := strings.Cut(target, "|")
			lost = append(lost, outranked("spec.targetRefs", store.Key{Collection: self.Collection, Name: name}, object))
		}
	}
	return lost
}

// outranked is why a policy does not count for an object.
func outranked(field string, by store.Key, object string) *problem {
	return problemf(verdict.Conflicted, field, "%s, which is older or first by name, is for %s", by, object).about(by)
}

// outright is why a policy counts for none of so many targets, or nil where it counts
// for some.
func outright(losses []*problem, targets int) *problem {
	if len(losses) < targets {
		return nil
	}
	return first(losses...)
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
	for _, item := range derive.All(c, b.entrancesByUse, key) {
		out = append(out, string(item.Value.Gateway))
	}
	return distinct(out)
}

// atEach is the status of what has the same conditions at each of some Gateways.
func atEach(gateways []string, c conditions) *Status {
	out := &Status{}
	for _, gateway := range gateways {
		out.Ancestors = append(out.Ancestors, AncestorStatus{Gateway: gateway, Conditions: slices.Clone(c.list)})
	}
	return out
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
