package status

import (
	"encoding/base64"

	core_v1 "k8s.io/api/core/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Object returns a copy of an API object with its status, as an API server would
// hold it, or the object itself when its kind has no status that Gatehouse
// writes. Entries that other controllers wrote stay untouched.
func Object(object any, s verdict.Status, f Facts, controller gateway_v1.GatewayController) any {
	switch o := object.(type) {
	case *gateway_v1.GatewayClass:
		out := o.DeepCopy()
		out.Status.Conditions = s.Conditions
		out.Status.SupportedFeatures = features(s.SupportedFeatures)
		return out
	case *gateway_v1.Gateway:
		out := o.DeepCopy()
		out.Status = gatewayStatus(s, f)
		return out
	case *gateway_v1.ListenerSet:
		out := o.DeepCopy()
		out.Status = listenerSetStatus(s)
		return out
	case *gateway_xv1alpha1.XBackend:
		out := o.DeepCopy()
		out.Status.Ancestors = mergeBackendAncestors(out.Status.Ancestors, s, controller)
		return out
	case *core_v1.Secret:
		return redacted(o)
	}
	if out, parents := routeOf(object); parents != nil {
		*parents = mergeParents(*parents, s, controller)
		return out
	}
	if out, ancestors := policyOf(object); ancestors != nil {
		*ancestors = mergeAncestors(*ancestors, s, controller)
		return out
	}
	return object
}

// routeOf returns a copy of a route, and where its parents' status is; nil for what
// is no route.
func routeOf(object any) (route any, parents *[]gateway_v1.RouteParentStatus) {
	switch o := object.(type) {
	case *gateway_v1.HTTPRoute:
		out := o.DeepCopy()
		return out, &out.Status.Parents
	case *gateway_v1.GRPCRoute:
		out := o.DeepCopy()
		return out, &out.Status.Parents
	case *gateway_v1.TCPRoute:
		out := o.DeepCopy()
		return out, &out.Status.Parents
	case *gateway_v1.TLSRoute:
		out := o.DeepCopy()
		return out, &out.Status.Parents
	case *gateway_v1.UDPRoute:
		out := o.DeepCopy()
		return out, &out.Status.Parents
	}
	return nil, nil
}

// policyOf returns a copy of a policy, and where its ancestors' status is; nil for
// what is no policy.
func policyOf(object any) (policy any, ancestors *[]gateway_v1.PolicyAncestorStatus) {
	switch o := object.(type) {
	case *gateway_v1.BackendTLSPolicy:
		out := o.DeepCopy()
		return out, &out.Status.Ancestors
	case *gateway_xv1alpha1.XBackendTrafficPolicy:
		out := o.DeepCopy()
		return out, &out.Status.Ancestors
	case *gateway_xv1alpha1.XTelemetryPolicy:
		out := o.DeepCopy()
		return out, &out.Status.Ancestors
	}
	return nil, nil
}

// redactedValue reads as "redacted" where the values of a Secret are read, in base64.
var redactedValue, _ = base64.StdEncoding.DecodeString("redacted")

// redacted is a Secret without its values, also where kubectl notes them; the keys
// stay.
func redacted(secret *core_v1.Secret) *core_v1.Secret {
	out := secret.DeepCopy()
	for key := range out.Data {
		out.Data[key] = redactedValue
	}
	out.StringData = nil
	delete(out.Annotations, core_v1.LastAppliedConfigAnnotation)
	return out
}

func features(names []string) []gateway_v1.SupportedFeature {
	out := make([]gateway_v1.SupportedFeature, 0, len(names))
	for _, name := range names {
		out = append(out, gateway_v1.SupportedFeature{Name: gateway_v1.FeatureName(name)})
	}
	return out
}

func gatewayStatus(s verdict.Status, f Facts) gateway_v1.GatewayStatus {
	out := gateway_v1.GatewayStatus{Conditions: s.Conditions}
	if s.AttachedSets > 0 {
		out.AttachedListenerSets = new(s.AttachedSets)
	}
	for _, address := range f.Addresses {
		out.Addresses = append(out.Addresses, gateway_v1.GatewayStatusAddress{
			Type: new(gateway_v1.IPAddressType), Value: address,
		})
	}
	for _, l := range s.Listeners {
		out.Listeners = append(out.Listeners, gateway_v1.ListenerStatus{
			Name: gateway_v1.SectionName(l.Name), SupportedKinds: kinds(l.SupportedKinds),
			AttachedRoutes: l.AttachedRoutes, Conditions: l.Conditions,
		})
	}
	return out
}

func listenerSetStatus(s verdict.Status) gateway_v1.ListenerSetStatus {
	out := gateway_v1.ListenerSetStatus{Conditions: s.Conditions}
	for _, l := range s.Listeners {
		out.Listeners = append(out.Listeners, gateway_v1.ListenerEntryStatus{
			Name: gateway_v1.SectionName(l.Name), SupportedKinds: kinds(l.SupportedKinds),
			AttachedRoutes: l.AttachedRoutes, Conditions: l.Conditions,
		})
	}
	return out
}

func kinds(names []string) []gateway_v1.RouteGroupKind {
	out := make([]gateway_v1.RouteGroupKind, 0, len(names))
	for _, name := range names {
		out = append(out, gateway_v1.RouteGroupKind{Group: new(gateway_v1.Group(gateway_v1.GroupName)), Kind: gateway_v1.Kind(name)})
	}
	return out
}
