package compile

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

const tuned = `
kind: GatewayConfig
metadata: {name: tuned, namespace: shop}
spec: {logLevel: debug, concurrency: 2}
`

const configuredClass = `
kind: GatewayClass
metadata: {name: gatehouse, generation: 2}
spec: {controllerName: gatehouse.dev/gateway-controller, parametersRef: {group: gatehouse.dev, kind: GatewayConfig, namespace: shop, name: tuned}}
`

func TestSettingsOfAGatewayWinFieldByField(t *testing.T) {
	w := with(t, configuredClass, tuned, `
kind: GatewayConfig
metadata: {name: own, namespace: shop}
spec: {logLevel: info, accessLog: {path: "-"}}
---
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: gatehouse
  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayConfig, name: own}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
`)
	g, _ := derive.Lookup(w.state, w.out.Model.Gateways, "shop/edge")
	equal(t, g.Settings, model.Settings{Concurrency: 2, LogLevel: "info", AccessLog: "-"})
	for _, name := range []string{"shop/tuned", "shop/own"} {
		if f := w.finding("GatewayConfig", name); !f.Serves {
			t.Errorf("%s: %v", name, f.Steps)
		}
	}
}

func TestParametersThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		name, class, config string
		message             string
	}{
		{"absent", configuredClass, "", "spec.parametersRef: GatewayConfig shop/tuned does not exist"},
		{
			"invalid", configuredClass, "kind: GatewayConfig\nmetadata: {name: tuned, namespace: shop}\nspec: {logLevel: loud}",
			`spec.parametersRef: GatewayConfig shop/tuned: spec.logLevel: "loud": must be one of trace, debug, info, warning, error, critical, off`,
		},
		{
			"another kind", "kind: GatewayClass\nmetadata: {name: gatehouse}\nspec: {controllerName: gatehouse.dev/gateway-controller, parametersRef: {group: '', kind: ConfigMap, namespace: shop, name: tuned}}", "",
			`spec.parametersRef: ConfigMap of group "" is no GatewayConfig of group "gatehouse.dev"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, c.class, edge, c.config)
			f := w.finding("GatewayClass", "gatehouse")
			accepted := f.Status.Conditions[0]
			equal(t, string(accepted.Status)+" "+accepted.Reason, "False InvalidParameters")
			equal(t, accepted.Message, c.message)
			g := w.finding("Gateway", "shop/edge")
			equal(t, conditionText(g.Status.Conditions), "Accepted=False InvalidParameters, Programmed=False Invalid")
			if f.Serves || g.Serves || f.Failed {
				t.Errorf("the class serves %v, the Gateway %v", f.Serves, g.Serves)
			}
		})
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	for _, spec := range []string{"{logLevel: loud}", "{concurrency: 0}", "{concurrency: 2000}", "{accessLog: {path: ''}}"} {
		w := with(t, "kind: GatewayConfig\nmetadata: {name: c, namespace: shop}\nspec: "+spec)
		if f := w.finding("GatewayConfig", "shop/c"); !f.Failed || !hasStep(f, verdict.WasRejected, verdict.UnsupportedValue) {
			t.Errorf("%s: failed %v, %v", spec, f.Failed, f.Steps)
		}
	}
}

func TestClassesAndTheirGateways(t *testing.T) {
	w := with(t, classYAML, "kind: GatewayClass\nmetadata: {name: theirs}\nspec: {controllerName: example.net/other}",
		"kind: Gateway\nmetadata: {name: lost, namespace: shop}\nspec: {gatewayClassName: absent, listeners: [{name: http, port: 80, protocol: HTTP}]}")
	ours, theirs, lost := w.finding("GatewayClass", "gatehouse"), w.finding("GatewayClass", "theirs"), w.finding("Gateway", "shop/lost")
	equal(t, conditionText(ours.Status.Conditions), "Accepted=True Accepted, SupportedVersion=True SupportedVersion")
	equal(t, reasons(ours), []string{"excluded NotReferenced"})
	equal(t, reasons(theirs), []string{"excluded OtherController"})
	equal(t, reasons(lost), []string{"excluded ClassNotFound"})
	if theirs.Status != nil || lost.Status != nil {
		t.Error("an object of another controller has a status of ours")
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		name, addresses string
		listeners       []string
		accepted        string
	}{
		{"none", "", []string{"shop/edge/default/80"}, "True Accepted"},
		{"any", "addresses: [{type: IPAddress}]", []string{"shop/edge/default/80"}, "True Accepted"},
		{"several", "addresses: [{value: 127.0.0.2}, {value: '::1'}]", []string{"shop/edge/127.0.0.2/80", "shop/edge/::1/80"}, "True Accepted"},
		{"a host name", "addresses: [{type: Hostname, value: a.example}]", nil, "False UnsupportedAddress"},
		{"one that is none", "addresses: [{value: a.example}]", nil, "False UnsupportedAddress"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, gatewayYAML("{name: http, port: 80, protocol: HTTP}")+"  "+c.addresses+"\n")
			var listeners []string
			for key := range derive.Items(w.state, w.out.Model.Listeners) {
				listeners = append(listeners, key)
			}
			equal(t, listeners, c.listeners)
			accepted := w.finding("Gateway", "shop/edge").Status.Conditions[0]
			equal(t, string(accepted.Status)+" "+accepted.Reason, c.accepted)
		})
	}
}

func TestSupportedKinds(t *testing.T) {
	for _, c := range []struct {
		name, listener string
		kinds          []string
		resolved       string
	}{
		{"HTTP", "{name: l, port: 80, protocol: HTTP}", []string{"GRPCRoute", "HTTPRoute"}, "True ResolvedRefs"},
		{"TCP", "{name: l, port: 80, protocol: TCP}", []string{"TCPRoute"}, "True ResolvedRefs"},
		{"asked for", "{name: l, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}]}}", []string{"HTTPRoute"}, "True ResolvedRefs"},
		{"asked for and another one", "{name: l, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {kind: TCPRoute}]}}", []string{"HTTPRoute"}, "False InvalidRouteKinds"},
		{"only another one", "{name: l, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: Thing, group: example.net}]}}", nil, "False InvalidRouteKinds"},
		{"UDP", "{name: l, port: 80, protocol: UDP}", []string{"UDPRoute"}, "True ResolvedRefs"},
		{"a protocol that is not served", "{name: l, port: 80, protocol: example.net/own}", nil, "True ResolvedRefs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, gatewayYAML(c.listener))
			l := w.finding("Gateway", "shop/edge").Status.Listeners[0]
			equal(t, l.SupportedKinds, c.kinds)
			equal(t, string(l.Conditions[2].Status)+" "+l.Conditions[2].Reason, c.resolved)
		})
	}
}
