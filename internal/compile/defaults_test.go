package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// defaultYAML is a Gateway of its own port, with or without a default scope.
func defaultYAML(namespace, name string, port int, scope string, more ...string) string {
	return fmt.Sprintf("kind: Gateway\nmetadata: {name: %s, namespace: %s}\nspec:\n  gatewayClassName: gatehouse\n  defaultScope: %s\n  listeners:\n  - {name: http, port: %d, protocol: HTTP%s}\n  - {name: more, port: %d, protocol: HTTP%s}\n",
		name, namespace, scope, port, strings.Join(more, ""), port+1, strings.Join(more, ""))
}

const fromAll = ", allowedRoutes: {namespaces: {from: All}}"

// wantingYAML is a route with these fields beside its rules.
func wantingYAML(name, fields string) string {
	return fmt.Sprintf("kind: HTTPRoute\nmetadata: {name: %s, namespace: shop, generation: 2}\nspec: {%s, hostnames: [%s.example], rules: [{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}]}", name, fields, name)
}

// parentsOf are the parents that the status of a route names, with the reason of Accepted.
func parentsOf(f Finding) string {
	var out []string
	for _, p := range f.Status.Parents {
		out = append(out, string(orElse(p.Ref.Namespace, ""))+"/"+string(p.Ref.Name)+" "+p.Conditions[0].Reason)
	}
	return strings.Join(out, ", ")
}

func TestRoutesThatAskForDefaultGateways(t *testing.T) {
	one, two := defaultYAML("infra", "one", 80, "All", fromAll), defaultYAML("infra", "two", 90, "All", fromAll)
	const theirs = "kind: GatewayClass\nmetadata: {name: theirs}\nspec: {controllerName: example.net/other}"
	for _, c := range []struct {
		name     string
		gateways []string
		fields   string
		parents  string
		steps    string
	}{
		{"attach to it", []string{one}, "useDefaultGateways: All", "infra/one Accepted", "ok Attached, ok Attached"},
		{"attach to all of them", []string{one, two}, "useDefaultGateways: All", "infra/one Accepted, infra/two Accepted", "ok Attached, ok Attached, ok Attached, ok Attached"},
		{"attach to no others", []string{one, defaultYAML("infra", "two", 90, "None", fromAll)}, "useDefaultGateways: All", "infra/one Accepted", "ok Attached, ok Attached"},
		{"attach as listeners let them", []string{defaultYAML("infra", "one", 80, "All"), two}, "useDefaultGateways: All", "infra/one NotAllowedByListeners, infra/two Accepted", "ok NotAllowedByListeners, ok Attached, ok Attached"},
		{"attach nowhere", []string{defaultYAML("infra", "one", 80, "All")}, "useDefaultGateways: All", "infra/one NotAllowedByListeners", "excluded NotAllowedByListeners"},
		{"have none", []string{defaultYAML("infra", "one", 80, "None", fromAll)}, "useDefaultGateways: All", "", "excluded ParentNotFound"},
		{"have none of this controller", []string{theirs, strings.Replace(one, "gatehouse", "theirs", 1)}, "useDefaultGateways: All", "", "excluded ParentNotFound"},
		{"have none and name one", []string{defaultYAML("infra", "one", 80, "None", fromAll)}, "useDefaultGateways: All, parentRefs: [{name: one, namespace: infra}]", "infra/one Accepted", "ok Attached, ok Attached, excluded ParentNotFound"},
		{"name another one", []string{one, two}, "useDefaultGateways: All, parentRefs: [{name: two, namespace: infra}]", "infra/two Accepted, infra/one Accepted", "ok Attached, ok Attached, ok Attached, ok Attached"},
		{"name the same one", []string{one}, "useDefaultGateways: All, parentRefs: [{name: one, namespace: infra}]", "infra/one Accepted", "ok Attached, ok Attached"},
		{"name a part of it", []string{one}, "useDefaultGateways: All, parentRefs: [{name: one, namespace: infra, sectionName: more}]", "infra/one Accepted", "ok Attached, warning NoEffect"},
		{"ask for none", []string{one}, "useDefaultGateways: None", "", "excluded ParentNotFound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, append(c.gateways, classYAML, wantingYAML("r", c.fields))...)
			f := w.finding("HTTPRoute", "shop/r")
			equal(t, parentsOf(f), c.parents)
			equal(t, strings.Join(reasons(f), ", "), c.steps)
		})
	}
}

func TestDefaultGatewaySaysSo(t *testing.T) {
	w := with(t, classYAML, defaultYAML("infra", "one", 80, "All"), defaultYAML("infra", "two", 90, "None"))
	equal(t, conditionText(w.finding("Gateway", "infra/one").Status.Conditions), "Accepted=True Accepted, DefaultGateway=True DefaultGateway")
	equal(t, conditionText(w.finding("Gateway", "infra/two").Status.Conditions), "Accepted=True Accepted")
}

// A ListenerSet of a default Gateway is no parent by default.
func TestDefaultGatewayIsNotItsListenerSets(t *testing.T) {
	gateway := strings.Replace(openYAML("{name: own, port: 80, protocol: HTTP}"), "\n  listeners:", "\n  defaultScope: All\n  listeners:", 1)
	w := with(t, classYAML, gateway, setYAML("shop", "s", january, "{name: set, port: 81, protocol: HTTP}"), wantingYAML("r", "useDefaultGateways: All"))
	equal(t, w.finding("Gateway", "shop/edge").Status.Listeners[0].AttachedRoutes, int32(1))
	equal(t, w.finding("ListenerSet", "shop/s").Status.Listeners[0].AttachedRoutes, int32(0))
}

// An edit costs the routes that it is about: not those that name the Gateway, and of a
// Gateway that stays a default one none.
func TestWorkOfDefaultGateways(t *testing.T) {
	edits := []struct {
		name  string
		apply func(w *world) derive.Result
		want  func(n int) int
	}{
		{"a route changes", func(w *world) derive.Result { return w.apply(wantingYAML("d7", "useDefaultGateways: None")) }, func(int) int { return 1 }},
		{"the Gateway shows a certificate", func(w *world) derive.Result {
			return w.apply(strings.Replace(defaultYAML("shop", "one", 80, "All"), "  listeners", "  tls: {backend: {clientCertificateRef: {name: s}}}\n  listeners", 1))
		}, func(int) int { return 0 }},
		{"a Gateway is no default one", func(w *world) derive.Result { return w.apply(defaultYAML("shop", "two", 90, "None")) }, func(int) int { return 0 }},
		{"the Gateway gives its scope up", func(w *world) derive.Result { return w.apply(defaultYAML("shop", "one", 80, "None")) }, func(n int) int { return n }},
		{"another takes it up", func(w *world) derive.Result { return w.apply(defaultYAML("shop", "two", 90, "All")) }, func(n int) int { return n }},
	}
	for _, n := range []int{10, 100} {
		documents := []string{classYAML, defaultYAML("shop", "one", 80, "All")}
		for i := range n {
			documents = append(documents, wantingYAML(fmt.Sprintf("d%d", i), "useDefaultGateways: All"), wantingYAML(fmt.Sprintf("n%d", i), "parentRefs: [{name: one}]"))
		}
		base := with(t, documents...)
		for _, e := range edits {
			w := *base
			if got := e.apply(&w).Work.Functions["attachment"]; got != e.want(n) {
				t.Errorf("%s among %d: %d attachments run, want %d", e.name, n, got, e.want(n))
			}
		}
	}
}

// Each kind of route has the field.
func TestEveryKindOfRouteAttachesByDefault(t *testing.T) {
	gateway := `kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: gatehouse
  defaultScope: All
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: tcp, port: 81, protocol: TCP}
  - {name: udp, port: 81, protocol: UDP}
  - {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}
`
	w := with(t, classYAML, gateway, "kind: Service\nmetadata: {name: s, namespace: shop}\nspec: {ports: [{name: a, port: 80}, {name: b, port: 80, protocol: UDP}]}")
	for _, kind := range []string{"HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute"} {
		hosts := ""
		if kind == "TLSRoute" {
			hosts = "hostnames: [a.example], "
		}
		w.apply("kind: " + kind + "\nmetadata: {name: r, namespace: shop}\nspec: {useDefaultGateways: All, " + hosts + "rules: [{backendRefs: [{name: s, port: 80}]}]}")
		if f := w.finding(kind, "shop/r"); !f.Serves || !strings.HasPrefix(f.Steps[0].Message, "default gateway shop/edge listener ") || f.Steps[0].Reason != verdict.Attached.Name {
			t.Errorf("%s serves %v: %v", kind, f.Serves, f.Steps)
		}
	}
}
