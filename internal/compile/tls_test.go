package compile

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

func tlsRoute(name, host, more string) string {
	return fmt.Sprintf("kind: TLSRoute\nmetadata: {name: %s, namespace: shop%s}\nspec: {parentRefs: [{name: edge}], hostnames: [%q], rules: [{backendRefs: [{name: one, port: 80}]}]}", name, more, host)
}

// chainText is a chain in a line: name, host, what ends TLS, where connections go.
func chainText(chains []model.Chain) []string {
	var out []string
	for _, c := range chains {
		to := "closed"
		switch {
		case c.Table != "":
			to = "table " + string(c.Table)
		case c.Stream != nil:
			to = action(model.Route{Forward: c.Stream})
		}
		out = append(out, fmt.Sprintf("%s %q %v %s", c.Name, c.Hostname, c.Certificates, to))
	}
	return out
}

// HTTPS, and TLS with and without its end here, share a port by server name. Each
// listener keeps its own name, with or without a route.
func TestTLSListenersShareAPort(t *testing.T) {
	pair := "kind: Secret\nmetadata: {name: tls, namespace: shop}\ndata: " + testPairs(t)["good"]
	w := with(t, classYAML, oneService, pair, gatewayYAML(
		"{name: web, port: 443, protocol: HTTPS, hostname: web.example, tls: {certificateRefs: [{name: tls}]}}",
		"{name: ended, port: 443, protocol: TLS, hostname: '*.example', tls: {mode: Terminate, certificateRefs: [{name: tls}]}}",
		"{name: through, port: 443, protocol: TLS, hostname: db.example, tls: {mode: Passthrough}}",
		"{name: idle, port: 443, protocol: TLS, hostname: idle.example, tls: {mode: Passthrough}}",
	), tlsRoute("a", "a.example", ""), tlsRoute("db", "db.example", ""))
	l, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/443")
	equal(t, l.Protocol, model.HTTPS)
	equal(t, chainText(l.Chains), []string{
		`idle "idle.example" [] closed`,
		`web "web.example" [shop/tls] table shop/edge/443/web`,
		`through/db.example "db.example" [] tls/shop/one:80*1`,
		`ended/a.example "a.example" [shop/tls] tcp/shop/one:80*1`,
		`ended "*.example" [shop/tls] closed`,
	})
	for _, name := range []string{"shop/a", "shop/db"} {
		f := w.finding("TLSRoute", name)
		equal(t, reasons(f), []string{"ok Attached"})
		equal(t, conditionText(f.Status.Parents[0].Conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs")
	}
	listeners := w.finding("Gateway", "shop/edge").Status.Listeners
	equal(t, []int32{listeners[0].AttachedRoutes, listeners[1].AttachedRoutes, listeners[2].AttachedRoutes}, []int32{0, 2, 1})
	equal(t, listeners[2].SupportedKinds, []string{"TLSRoute"})
	hosts := w.hostsOf("shop/edge/443/web")
	for _, h := range hosts {
		if h.Domain == "db.example" && !h.Misdirected {
			t.Error("a request for a host that goes through is not misdirected")
		}
	}
}

// A port for TLS alone is TLS, and a listener without a certificate serves nothing.
func TestTLSListenerWithoutCertificate(t *testing.T) {
	w := with(t, classYAML, oneService, gatewayYAML("{name: ended, port: 443, protocol: TLS}", "{name: through, port: 444, protocol: TLS, tls: {mode: Passthrough}}"), tlsRoute("a", "a.example", ""))
	if _, exists := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/443"); exists {
		t.Error("a listener without certificate is bound")
	}
	l, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/444")
	equal(t, l.Protocol, model.TLS)
	equal(t, chainText(l.Chains), []string{`through/a.example "a.example" [] tls/shop/one:80*1`, `through "" [] closed`})
}

// Of routes with one server name, the more specific host name goes first, then
// the older; the other is accepted and has no effect.
func TestOneTLSRouteAName(t *testing.T) {
	w := with(t, classYAML, oneService, gatewayYAML("{name: through, port: 443, protocol: TLS, hostname: a.example, tls: {mode: Passthrough}}"),
		tlsRoute("wide", "*.example", ", creationTimestamp: '2026-01-01T00:00:00Z'"), tlsRoute("exact", "a.example", ", creationTimestamp: '2026-01-02T00:00:00Z'"),
		tlsRoute("late", "a.example", ", creationTimestamp: '2026-01-03T00:00:00Z'"))
	if f := w.finding("TLSRoute", "shop/exact"); !f.Serves {
		t.Errorf("the exact name does not serve: %v", f.Steps)
	}
	for _, name := range []string{"shop/wide", "shop/late"} {
		f := w.finding("TLSRoute", name)
		if f.Serves || !hasStep(f, verdict.WasExcluded, verdict.Conflicted) {
			t.Errorf("%s: serves %v, steps %v", name, f.Serves, f.Steps)
		}
		equal(t, f.Status.Parents[0].Conditions[0].Reason, "Accepted")
	}
	equal(t, w.finding("Gateway", "shop/edge").Status.Listeners[0].AttachedRoutes, int32(3))
}

func TestTLSRouteNeedsATLSListener(t *testing.T) {
	f := with(t, classYAML, oneService, edge, tlsRoute("a", "a.example", "")).finding("TLSRoute", "shop/a")
	equal(t, reasons(f), []string{"excluded NotAllowedByListeners"})
}
