package status

import (
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// How many entries the status of a route, of a policy, and of an XBackend can have.
const (
	maxParents          = 32
	maxAncestors        = 16
	maxBackendAncestors = 32
)

// mergeEntries replaces this controller's entries and keeps all others, as far as
// there is room.
func mergeEntries[E any](have []E, ours func(E) bool, entries []E, most int) []E {
	out := slices.DeleteFunc(slices.Clone(have), ours)
	return append(out, entries[:min(len(entries), max(0, most-len(out)))]...)
}

func mergeParents(have []gateway_v1.RouteParentStatus, s verdict.Status, controller gateway_v1.GatewayController) []gateway_v1.RouteParentStatus {
	var own []gateway_v1.RouteParentStatus
	for _, p := range s.Parents {
		own = append(own, gateway_v1.RouteParentStatus{ParentRef: p.Ref, ControllerName: controller, Conditions: p.Conditions})
	}
	return mergeEntries(have, func(p gateway_v1.RouteParentStatus) bool { return p.ControllerName == controller }, own, maxParents)
}

func mergeAncestors(have []gateway_v1.PolicyAncestorStatus, s verdict.Status, controller gateway_v1.GatewayController) []gateway_v1.PolicyAncestorStatus {
	var own []gateway_v1.PolicyAncestorStatus
	for _, a := range s.Ancestors {
		own = append(own, gateway_v1.PolicyAncestorStatus{AncestorRef: ancestor(a), ControllerName: controller, Conditions: a.Conditions})
	}
	return mergeEntries(have, func(a gateway_v1.PolicyAncestorStatus) bool { return a.ControllerName == controller }, own, maxAncestors)
}

func mergeBackendAncestors(have []gateway_xv1alpha1.BackendAncestorStatus, s verdict.Status, controller gateway_v1.GatewayController) []gateway_xv1alpha1.BackendAncestorStatus {
	var own []gateway_xv1alpha1.BackendAncestorStatus
	for _, a := range s.Ancestors {
		own = append(own, gateway_xv1alpha1.BackendAncestorStatus{AncestorRef: ancestor(a), ControllerName: controller, Conditions: a.Conditions})
	}
	return mergeEntries(have, func(a gateway_xv1alpha1.BackendAncestorStatus) bool { return a.ControllerName == controller }, own, maxBackendAncestors)
}

// ancestor is the Gateway that a status is about.
func ancestor(a verdict.AncestorStatus) gateway_v1.ParentReference {
	namespace, name, _ := strings.Cut(a.Gateway, "/")
	return gateway_v1.ParentReference{
		Group: new(gateway_v1.Group(gateway_v1.GroupName)), Kind: new(gateway_v1.Kind("Gateway")),
		Namespace: new(gateway_v1.Namespace(namespace)), Name: gateway_v1.ObjectName(name),
	}
}
