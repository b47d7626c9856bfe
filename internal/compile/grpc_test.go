package compile

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// grpcRoute is a GRPCRoute of the Gateway of these tests with one rule in flow style.
func grpcRoute(name, rule string) string {
	return "kind: GRPCRoute\nmetadata: {name: " + name + ", namespace: shop, generation: 2}\nspec:\n  parentRefs: [{name: edge}]\n  hostnames: [a.example]\n  rules:\n  - " + rule + "\n"
}

func TestMethodsOfCalls(t *testing.T) {
	for _, c := range []struct {
		name, method string
		want         model.PathMatch
	}{
		{"anything", "", model.PathMatch{Kind: model.PathPrefix, Value: "/"}},
		{"service and method", "method: {service: shop.v1.Cart, method: Add}", model.PathMatch{Kind: model.PathExact, Value: "/shop.v1.Cart/Add"}},
		{"a service", "method: {service: shop.v1.Cart}", model.PathMatch{Kind: model.PathPrefix, Value: "/shop.v1.Cart"}},
		{"a method", "method: {method: Add}", model.PathMatch{Kind: model.PathRegex, Value: "/[^/]+/Add"}},
		{"expressions", "method: {type: RegularExpression, service: 'shop[.].*', method: Add|Get}", model.PathMatch{Kind: model.PathRegex, Value: "/(?:shop[.].*)/(?:Add|Get)"}},
		{"an expression for the method", "method: {type: RegularExpression, method: 'A.*'}", model.PathMatch{Kind: model.PathRegex, Value: "/[^/]+/(?:A.*)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, edge, oneService, grpcRoute("r", "{matches: [{"+c.method+"}], backendRefs: [{name: one, port: 80}]}"))
			r := hostRoutes(t, w, "a.example")[0]
			equal(t, r.Match, model.Match{GRPC: true, Path: c.want})
			equal(t, action(r), "grpc/shop/one:80*1")
			cluster, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|grpc/shop/one:80")
			equal(t, cluster.Protocol, model.UpstreamHTTP2)
			f := w.finding("GRPCRoute", "shop/r")
			equal(t, conditionText(f.Status.Parents[0].Conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs")
			equal(t, reasons(f), []string{"ok Attached"})
			equal(t, w.finding("Gateway", "shop/edge").Status.Listeners[0].AttachedRoutes, int32(1))
		})
	}
}

func hostRoutes(t *testing.T, w *world, domain string) []model.Route {
	t.Helper()
	for _, h := range w.hostsOf("shop/edge/8080") {
		if h.Domain == domain {
			return h.Routes
		}
	}
	t.Fatalf("no host %s", domain)
	return nil
}

// The characters of the service decide, then those of the method, then headers;
// and calls go before requests, of which HTTPRoutes may take those that are left.
func TestPrecedenceOfCalls(t *testing.T) {
	w := with(t, classYAML, edge, oneService, grpcRoute("calls", `{matches: [
		{}, {headers: [{name: a, value: b}]}, {method: {method: Add}}, {method: {service: shop.Cart}}, {method: {service: shop.Cart, method: Add}},
		{method: {service: shop.Cart, method: Add}, headers: [{name: a, value: b}]}, {method: {service: shop.CartOfOthers}}]}`),
		"kind: HTTPRoute\nmetadata: {name: web, namespace: shop}\nspec: {parentRefs: [{name: edge}], hostnames: [a.example], rules: [{matches: [{path: {type: Exact, value: /shop.Cart/Add}}], backendRefs: [{name: one, port: 80}]}]}")
	var got []string
	for _, r := range hostRoutes(t, w, "a.example") {
		text := r.Match.Path.Value
		if len(r.Match.Headers) > 0 {
			text += " with a header"
		}
		if !r.Match.GRPC {
			text += " of any kind"
		}
		got = append(got, text)
	}
	equal(t, got, []string{
		"/shop.CartOfOthers", "/shop.Cart/Add with a header", "/shop.Cart/Add", "/shop.Cart", "/[^/]+/Add", "/ with a header", "/",
		"/shop.Cart/Add of any kind",
	})
}

func TestCallsWithoutBackend(t *testing.T) {
	w := with(t, classYAML, edge, oneService, grpcRoute("r", "{backendRefs: [{name: absent, port: 80}]}"))
	r := hostRoutes(t, w, "a.example")[0]
	equal(t, action(r), "503")
	equal(t, reasons(w.finding("GRPCRoute", "shop/r")), []string{"ok Attached", "excluded BackendNotFound"})
}

func TestCallsThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct{ match, field string }{
		"a service":     {"method: {service: 'a/b'}", "spec.rules[0].matches[0].method.service"},
		"a method":      {"method: {method: 'a.b'}", "spec.rules[0].matches[0].method.method"},
		"an expression": {"method: {type: RegularExpression, service: '('}", "spec.rules[0].matches[0].method.service"},
		"a type":        {"method: {type: Glob, service: a}", "spec.rules[0].matches[0].method.type"},
		"a header":      {"headers: [{type: RegularExpression, name: a, value: '('}]", "spec.rules[0].matches[0].headers[0].value"},
	} {
		t.Run(name, func(t *testing.T) {
			f := with(t, classYAML, edge, oneService, grpcRoute("r", "{matches: [{"+c.match+"}]}")).finding("GRPCRoute", "shop/r")
			if !f.Failed || f.Serves {
				t.Errorf("failed %v, serves %v", f.Failed, f.Serves)
			}
			if !hasStep(f, verdict.WasRejected, verdict.UnsupportedValue) || f.Steps[1].Field != c.field {
				t.Errorf("steps %v, want the field %s", f.Steps, c.field)
			}
		})
	}
}
