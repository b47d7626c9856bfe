package failmode

import (
	"reflect"
	"slices"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// meetListeners is a Gateway or ListenerSet whose listeners take no more than those
// of the same name in the observed revision. A listener that is not there any more,
// or has another protocol, is no narrowed one.
func meetListeners(accepted, observed any) any {
	switch a := accepted.(type) {
	case *gateway_v1.Gateway:
		if o, ok := observed.(*gateway_v1.Gateway); ok {
			return meetGateways(a, o)
		}
	case *gateway_v1.ListenerSet:
		if o, ok := observed.(*gateway_v1.ListenerSet); ok {
			return meetSets(a, o)
		}
	}
	return accepted
}

func meetGateways(accepted, observed *gateway_v1.Gateway) any {
	out := accepted
	for i, l := range accepted.Spec.Listeners {
		if allowed, narrower := meetRoutes(l, observed.Spec.Listeners, accepted.Namespace); narrower {
			out = own(out, accepted)
			out.Spec.Listeners[i].AllowedRoutes = allowed
		}
	}
	before, now := setsOf(accepted), setsOf(observed)
	if before.within(now) {
		return out
	}
	met := before.meet(now)
	out = own(out, accepted)
	out.Spec.AllowedListeners = &gateway_v1.AllowedListeners{Namespaces: &gateway_v1.ListenerNamespaces{From: &met.from, Selector: met.selector}}
	return out
}

// own is out, or a copy of what was accepted as long as it is that.
func own(out, accepted *gateway_v1.Gateway) *gateway_v1.Gateway {
	if out == accepted {
		return accepted.DeepCopy()
	}
	return out
}

func meetSets(accepted, observed *gateway_v1.ListenerSet) any {
	var now []gateway_v1.Listener
	for _, entry := range observed.Spec.Listeners {
		now = append(now, gateway_v1.Listener(entry))
	}
	out := accepted
	for i, entry := range accepted.Spec.Listeners {
		if allowed, narrower := meetRoutes(gateway_v1.Listener(entry), now, accepted.Namespace); narrower {
			if out == accepted {
				out = accepted.DeepCopy()
			}
			out.Spec.Listeners[i].AllowedRoutes = allowed
		}
	}
	return out
}

// meetRoutes is what a listener and the one of its name both allow, and whether that
// is less than the listener does.
func meetRoutes(l gateway_v1.Listener, observed []gateway_v1.Listener, namespace string) (*gateway_v1.AllowedRoutes, bool) {
	i := slices.IndexFunc(observed, func(o gateway_v1.Listener) bool { return o.Name == l.Name })
	if i < 0 {
		return nil, false
	}
	before, now := routesOf(l.AllowedRoutes, namespace), routesOf(observed[i].AllowedRoutes, namespace)
	kinds, fewer := meetKinds(kindsOf(l, l.AllowedRoutes), kindsOf(l, observed[i].AllowedRoutes))
	if before.empty() || !fewer && before.within(now) || len(kindsOf(l, l.AllowedRoutes)) == 0 {
		return nil, false
	}
	out := &gateway_v1.AllowedRoutes{}
	if l.AllowedRoutes != nil {
		out = l.AllowedRoutes.DeepCopy()
	}
	met := before.meet(now)
	if met.empty() || len(kinds) == 0 {
		met = nobody(namespace)
	} else if fewer {
		out.Kinds = groupKinds(kinds)
	}
	out.Namespaces = &gateway_v1.RouteNamespaces{From: &met.from, Selector: met.selector}
	return out, true
}

// routesOf is where routes may be; without anything said, beside the listener.
func routesOf(allowed *gateway_v1.AllowedRoutes, namespace string) scope {
	out := scope{from: gateway_v1.NamespacesFromSame, own: namespace}
	if allowed == nil || allowed.Namespaces == nil {
		return out
	}
	if n := allowed.Namespaces; n.From != nil {
		out.from, out.selector = *n.From, n.Selector
	}
	return out
}

// setsOf is where ListenerSets may be; without anything said, nowhere.
func setsOf(g *gateway_v1.Gateway) scope {
	out := scope{from: gateway_v1.NamespacesFromNone, own: g.Namespace}
	if allowed := g.Spec.AllowedListeners; allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil {
		out.from, out.selector = *allowed.Namespaces.From, allowed.Namespaces.Selector
	}
	return out
}

// kindsOf are the kinds of routes that something allows at a listener.
func kindsOf(l gateway_v1.Listener, allowed *gateway_v1.AllowedRoutes) []string {
	fit := snapshot.RouteKinds[l.Protocol]
	if allowed == nil || len(allowed.Kinds) == 0 {
		return fit
	}
	var out []string
	for _, kind := range fit {
		if slices.ContainsFunc(allowed.Kinds, func(k gateway_v1.RouteGroupKind) bool {
			return string(k.Kind) == kind && (k.Group == nil || *k.Group == gateway_v1.GroupName)
		}) {
			out = append(out, kind)
		}
	}
	return out
}

func meetKinds(before, now []string) (both []string, fewer bool) {
	for _, kind := range before {
		if slices.Contains(now, kind) {
			both = append(both, kind)
		}
	}
	return both, len(both) < len(before)
}

func groupKinds(kinds []string) []gateway_v1.RouteGroupKind {
	var out []gateway_v1.RouteGroupKind
	for _, kind := range kinds {
		out = append(out, gateway_v1.RouteGroupKind{Group: new(gateway_v1.Group(gateway_v1.GroupName)), Kind: gateway_v1.Kind(kind)})
	}
	return out
}

// changedAuth reports whether two revisions ask other services before they let
// requests pass.
func changedAuth(accepted, observed any) bool {
	return !reflect.DeepEqual(auths(accepted), auths(observed))
}

func auths(object any) []*gateway_v1.HTTPExternalAuthFilter {
	var out []*gateway_v1.HTTPExternalAuthFilter
	filters := func(all []gateway_v1.HTTPRouteFilter) {
		for _, f := range all {
			if f.ExternalAuth != nil {
				out = append(out, f.ExternalAuth)
			}
		}
	}
	switch o := object.(type) {
	case *gateway_v1.HTTPRoute:
		for _, rule := range o.Spec.Rules {
			filters(rule.Filters)
			for _, backend := range rule.BackendRefs {
				filters(backend.Filters)
			}
		}
	case *gateway_v1.Gateway:
		for _, l := range o.Spec.Listeners {
			out = append(out, listenerAuths(l)...)
		}
	case *gateway_v1.ListenerSet:
		for _, entry := range o.Spec.Listeners {
			out = append(out, listenerAuths(gateway_v1.Listener(entry))...)
		}
	}
	return out
}

func listenerAuths(l gateway_v1.Listener) []*gateway_v1.HTTPExternalAuthFilter {
	var out []*gateway_v1.HTTPExternalAuthFilter
	if l.Filters == nil {
		return nil
	}
	for _, f := range l.Filters.Requests {
		if f.ExternalAuth != nil {
			out = append(out, f.ExternalAuth)
		}
	}
	return out
}
