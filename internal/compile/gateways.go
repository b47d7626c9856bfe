package compile

import (
	"net/netip"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	gatehouse_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/gateway/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// gatewayFeatures are the features of Gateway API that this file compiles.
var gatewayFeatures = featureNames{
	features.SupportGateway,
	features.SupportGatewayAddressEmpty,
	features.SupportGatewayPort8080,
	features.SupportGatewayStaticAddresses,
}

// gateway is a Gateway as far as its own spec, its class and its settings decide.
type gateway struct {
	ID         model.GatewayID
	Generation int64
	// Created is in seconds since 1970; the older Gateway wins a port.
	Created int64
	Class   string
	// Managed tells that the class names this controller.
	Managed bool
	// Problem is why no listener of it serves.
	Problem  *problem
	Configs  []string // GatewayConfigs that decide its settings
	Settings model.Settings
	// Addresses to bind; the zero Addr is the process default.
	Addresses []netip.Addr
	// Unassigned is why entries of spec.addresses have no address, while others may.
	Unassigned []*problem
	// Listeners are its own in order of the spec, and once merged then those of the
	// ListenerSets that attach to it, in order of precedence.
	Listeners []listener
	// Allowed is where ListenerSets may attach from.
	Allowed scope
	// Sets are the ListenerSets that attach to it, in order of precedence.
	Sets []admitted
	// Frontend is how certificates of clients are verified; nil is not at all.
	Frontend *gateway_v1.FrontendTLSConfig
	Warnings []*problem
	// DefaultScope is the scope that it is a default Gateway of; empty for none.
	DefaultScope string
	// ClientCertificate is what the Gateway shows to backends; nil is none.
	ClientCertificate *certificateRef
}

// claims tells whether the Gateway wants ports bound.
func (g gateway) claims() bool { return g.Managed && g.Problem == nil }

// referrer is who the Gateway is to what it refers to.
func (g gateway) referrer() referrer {
	return referrer{Kind: kindGateway, Namespace: namespaceOf(g.ID)}
}

// readGateway derives what a Gateway wants.
func (b *build) readGateway(c *derive.Ctx, key string, object *gateway_v1.Gateway) (gateway, bool) {
	g := gateway{
		ID: model.GatewayID(key), Generation: object.Generation, Created: object.CreationTimestamp.Unix(),
		Class: string(object.Spec.GatewayClassName),
	}
	class, found := derive.Get(c, b.classOf, g.Class)
	g.Managed = found && class.Managed
	switch {
	case !found:
		g.Problem = problemf(verdict.ClassNotFound, "spec.gatewayClassName", "GatewayClass %s does not exist", g.Class).
			about(snapshot.Ref(kindGatewayClass, "", g.Class))
	case !class.Managed:
		g.Problem = problemf(verdict.OtherController, "spec.gatewayClassName", "GatewayClass %s belongs to another controller", g.Class)
	case class.Problem != nil:
		g.Problem = problemf(verdict.InvalidParameters, "spec.gatewayClassName", "GatewayClass %s is not accepted: %s", g.Class, class.Problem.sentence())
	}
	if !g.Managed {
		return g, true
	}
	b.settings(c, &g, class, object)
	g.bind(object.Spec.Addresses)
	g.Listeners = readListeners(section{Gateway: g.ID}, object.Spec.Listeners)
	distinguish(g.Listeners)
	if object.Spec.TLS != nil {
		g.Frontend = object.Spec.TLS.Frontend
	}
	g.DefaultScope = scopeOf(object.Spec.DefaultScope)
	g.ClientCertificate = backendCertificate(object)
	g.Warnings = append(g.Warnings, unserved(object.Spec)...)
	g.allow(object.Spec.AllowedListeners)
	return g, true
}

// settings reads the Gateway's own GatewayConfig and lays it over that of its class.
func (b *build) settings(c *derive.Ctx, g *gateway, class class, object *gateway_v1.Gateway) {
	var own gatehouse_v1alpha1.GatewayConfigSpec
	if class.Config != "" {
		g.Configs = append(g.Configs, class.Config)
	}
	if infra := object.Spec.Infrastructure; infra != nil && infra.ParametersRef != nil {
		ref := infra.ParametersRef
		to := target{string(ref.Group), string(ref.Kind), object.Namespace, ref.Name}
		g.Configs = append(g.Configs, to.name())
		var why *problem
		own, why = b.parameters(c, to, "spec.infrastructure.parametersRef")
		g.Problem = first(g.Problem, why)
	}
	g.Configs = distinct(g.Configs)
	g.Settings = settle(class.Settings, own)
}

// unserved are the fields of a Gateway that have no effect. Those that must
// not be skipped are the listeners' problem instead.
func unserved(spec gateway_v1.GatewaySpec) []*problem {
	var out []*problem
	if infra := spec.Infrastructure; infra != nil && len(infra.Labels)+len(infra.Annotations) > 0 {
		out = append(out, problemf(verdict.NoEffect, "spec.infrastructure", "a proxy here is a process, and nothing is created for it that could carry labels and annotations"))
	}
	return out
}
