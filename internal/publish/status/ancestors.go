package status

import (
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// How many entries the status of a policy, and that of an XBackend, can have.
const (
	maxAncestors        = 16
	maxBackendAncestors = 32
)

// mergeAncestors replaces this controller's entries and keeps all others, as far
// as there is room.
func mergeAncestors(have []gateway_v1.PolicyAncestorStatus, s verdict.Status, controller gateway_v1.GatewayController) []gateway_v1.PolicyAncestorStatus {
	out := slices.DeleteFunc(slices.Clone(have), func(a gateway_v1.PolicyAncestorStatus) bool { return a.ControllerName == controller })
	for _, a := range s.Ancestors {
		if len(out) == maxAncestors {
			break
		}
		out = append(out, gateway_v1.PolicyAncestorStatus{AncestorRef: ancestor(a), ControllerName: controller, Conditions: a.Conditions})
	}
	return out
}

// mergeBackendAncestors does the same for an XBackend.
func mergeBackendAncestors(have []gateway_xv1alpha1.BackendAncestorStatus, s verdict.Status, controller gateway_v1.GatewayController) []gateway_xv1alpha1.BackendAncestorStatus {
	out := slices.DeleteFunc(slices.Clone(have), func(a gateway_xv1alpha1.BackendAncestorStatus) bool { return a.ControllerName == controller })
	for _, a := range s.Ancestors {
		if len(out) == maxBackendAncestors {
			break
		}
		out = append(out, gateway_xv1alpha1.BackendAncestorStatus{AncestorRef: ancestor(a), ControllerName: controller, Conditions: a.Conditions})
	}
	return out
}

// ancestor is the Gateway that a status is about.
func ancestor(a verdict.AncestorStatus) gateway_v1.ParentReference {
	namespace, name, _ := strings.Cut(a.Gateway, "/")
	return gateway_v1.ParentReference{
		Group: new(gateway_v1.Group(gateway_v1.GroupName)), Kind: new(gateway_v1.Kind("Gateway")),
		Namespace: new(gateway_v1.Namespace(namespace)), Name: gateway_v1.ObjectName(name),
	}
}
