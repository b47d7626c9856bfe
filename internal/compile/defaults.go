package compile

import (
	"slices"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// typeDefaultGateway is the condition that GEP-3793 gives a Gateway with a default
// scope. The API's types have no name for it yet, nor its features.
const typeDefaultGateway = "DefaultGateway"

// scopeOf is the scope that a field sets; empty for none.
func scopeOf(s gateway_v1.GatewayDefaultScope) string {
	if s == gateway_v1.GatewayDefaultScopeNone {
		return ""
	}
	return string(s)
}

// defaultScopes are the buckets of a Gateway among the default ones. Routes ask for
// the keys, so that they run again only when a Gateway takes up the scope or gives it up.
func defaultScopes(_ string, g gateway) []string {
	if g.DefaultScope == "" {
		return nil
	}
	return []string{g.DefaultScope}
}

// attachByDefault attaches a route to every default Gateway of the scope that it
// asks for. A Gateway that a parentRef names is the parentRef's alone.
func (b *build) attachByDefault(c *derive.Ctx, g guest, out *attachment) {
	scope := scopeOf(g.Wants.UseDefaultGateways)
	if scope == "" {
		return
	}
	gateways := derive.Keys(c, b.defaults, scope)
	if len(gateways) == 0 {
		out.Missing = problemf(verdict.ParentNotFound, fieldDefaults, "no Gateway of this controller has spec.defaultScope %s: set it on one, or name a Gateway in parentRefs", scope)
	}
	for _, name := range gateways {
		if named, whole := g.namesGateway(name); !named {
			out.Parents = append(out.Parents, b.attachTo(c, g, defaultParent(model.GatewayID(name)), parent{ByDefault: true}))
		} else if !whole {
			out.Notes = append(out.Notes, problemf(verdict.NoEffect, fieldDefaults,
				"default Gateway %s: parentRefs name some of its listeners, and the route attaches to no others; drop those parentRefs to attach to all", name).
				about(store.Key{Collection: kindGateway, Name: name}))
		}
		out.Defaulted = out.Defaulted || out.lets(model.GatewayID(name))
	}
}

// lets tells whether some parent is a Gateway that lets the route in.
func (a attachment) lets(id model.GatewayID) bool {
	return slices.ContainsFunc(a.Parents, func(p parent) bool { return p.Gateway == id && p.Set == "" && p.Problem == nil })
}

// namesGateway tells whether some parentRef is a Gateway, and whether one is all of it.
func (g guest) namesGateway(name string) (named, whole bool) {
	for _, ref := range g.Wants.ParentRefs {
		if to := parentTarget(ref, g.Namespace); to.is(gatewayGroup, kindGateway) && to.name() == name {
			named, whole = true, whole || ref.SectionName == nil && ref.Port == nil
		}
	}
	return named, whole
}

// defaultParent is how the status of a route names a default Gateway.
func defaultParent(id model.GatewayID) gateway_v1.ParentReference {
	namespace, name := snapshot.SplitName(string(id))
	return gateway_v1.ParentReference{
		Group: new(gateway_v1.Group(gatewayGroup)), Kind: new(gateway_v1.Kind(kindGateway)),
		Namespace: new(gateway_v1.Namespace(namespace)), Name: gateway_v1.ObjectName(name),
	}
}

const fieldDefaults = "spec.useDefaultGateways"

// field is what in the route asks for the parent.
func (p parent) field() string {
	if p.ByDefault {
		return fieldDefaults
	}
	return indexed("spec.parentRefs", p.Index)
}
