package verdict

import (
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Status is what an object's status says, in the shape common to all kinds;
// publish/status turns it into each kind's own.
type Status struct {
	// Conditions of the object itself (GatewayClass, Gateway, ListenerSet, policies).
	Conditions []meta_v1.Condition
	// Listeners of a Gateway or a ListenerSet, in the order of its spec.
	Listeners []ListenerStatus
	// Gateway is the one that a ListenerSet attaches to, "namespace/name".
	Gateway string `json:",omitzero"`
	// AttachedSets is how many ListenerSets of a Gateway are accepted.
	AttachedSets int32 `json:",omitzero"`
	// Sets are the ListenerSets that attach to a Gateway, "namespace/name", sorted.
	Sets []string `json:",omitzero"`
	// SetResources are the model listener keys by which they serve, sorted.
	SetResources []string `json:",omitzero"`
	// Parents of a route, in the order of its spec, then default Gateways in order
	// of name; only those of this controller.
	Parents []ParentStatus
	// Ancestors of a policy, in order of name.
	Ancestors []AncestorStatus
	// SupportedFeatures of a GatewayClass, sorted.
	SupportedFeatures []string
}

// ListenerStatus is the status of one listener.
type ListenerStatus struct {
	Name           string
	SupportedKinds []string // of group gateway.networking.k8s.io
	AttachedRoutes int32
	Conditions     []meta_v1.Condition
	// Resource is the model listener key that serves it, for Programmed; empty when none does.
	Resource string
}

// AncestorStatus is the status of a policy at one Gateway that it has an effect on.
type AncestorStatus struct {
	Gateway    string // "namespace/name"
	Conditions []meta_v1.Condition
}

// ParentStatus is the status of a route at one parent.
type ParentStatus struct {
	// Ref is the parentRef as the spec has it, or the default Gateway in full.
	Ref        gateway_v1.ParentReference
	Conditions []meta_v1.Condition
}
