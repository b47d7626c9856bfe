package status

import (
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// maxAncestors is how many entries a policy's status can have.
const maxAncestors = 16

// mergeAncestors replaces this controller's entries and keeps all others, as far
// as there is room.
func mergeAncestors(have []gateway_v1.PolicyAncestorStatus, s verdict.Status, controller gateway_v1.GatewayController) []gateway_v1.PolicyAncestorStatus {
	out := slices.DeleteFunc(slices.Clone(have), func(a gateway_v1.PolicyAncestorStatus) bool { return a.ControllerName == controller })
	for _, a := range s.Ancestors {
		if len(out) == maxAncestors {
			break
		}
		namespace, name, _ := strings.Cut(a.Gateway, "/")
		out = append(out, gateway_v1.PolicyAncestorStatus{
			AncestorRef: gateway_v1.ParentReference{
				Group: new(gateway_v1.Group(gateway_v1.GroupName)), Kind: new(gateway_v1.Kind("Gateway")),
				Namespace: new(gateway_v1.Namespace(namespace)), Name: gateway_v1.ObjectName(name),
			},
			ControllerName: controller, Conditions: a.Conditions,
		})
	}
	return out
}
