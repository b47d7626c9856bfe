package compile

import (
	"fmt"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

func parentKey(p parent) store.Key {
	if p.Set != "" {
		return setRef(p.Set)
	}
	return gatewayRef(p.Gateway)
}

// parents are the conditions of a route at each parent of this controller.
func (v routeVerdict) parents(generation int64) []ParentStatus {
	var out []ParentStatus
	for _, p := range v.attachment.Parents {
		if p.Managed {
			out = append(out, ParentStatus{Ref: v.ref(p), Conditions: v.conditions(p, generation)})
		}
	}
	return out
}

// ref is a parent as the route refers to it; a default Gateway is named in full.
func (v routeVerdict) ref(p parent) gateway_v1.ParentReference {
	if p.ByDefault {
		return defaultParent(p.Gateway)
	}
	return v.spec.ParentRefs[p.Index]
}

func (v routeVerdict) conditions(p parent, generation int64) []condition {
	c := conditions{generation: generation}
	why := first(p.Problem, v.invalid())
	c.judge(typeAccepted, string(gateway_v1.RouteReasonAccepted), "the route is attached", why)
	c.judge(typeResolvedRefs, string(gateway_v1.RouteReasonResolvedRefs), "every reference is resolved", v.unresolved())
	if dropped := v.dropped(); why == nil && dropped != "" {
		c.yes(typePartiallyInvalid, string(gateway_v1.RouteReasonUnsupportedValue), dropped)
	}
	return c.list
}

// invalid is why no rule of the route is implemented.
func (v routeVerdict) invalid() *problem {
	if v.accepted {
		return nil
	}
	for _, r := range v.rules {
		if why := r.fault(); why != nil {
			return why
		}
	}
	return nil
}

// unresolved is the first reference that leads nowhere, as a condition has one reason.
func (v routeVerdict) unresolved() *problem {
	var all []*problem
	for _, r := range v.rules {
		all = append(all, r.Unresolved...)
	}
	if len(all) == 0 {
		return nil
	}
	why := *all[0]
	if why.Reason.Name == verdict.UnsupportedValue.Name {
		why.Reason = verdict.UnsupportedProtocol
	}
	if len(all) > 1 {
		why.Message += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	return &why
}

// dropped names the rules that are not implemented, in the words that Gateway API
// asks for.
func (v routeVerdict) dropped() string {
	var parts []string
	for _, r := range v.rules {
		if why := r.fault(); why != nil {
			parts = append(parts, fmt.Sprintf("%q (%s)", r.Label, why.sentence()))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Dropped Rule " + strings.Join(parts, ", ")
}
