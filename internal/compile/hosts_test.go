package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// routesOf are the routes of one host in order: who and what.
func routesOf(w *world, table, domain string) []string {
	w.t.Helper()
	found := w.hostsOf(table)
	var out []string
	for _, h := range found {
		if h.Domain != domain {
			continue
		}
		for _, r := range h.Routes {
			name := r.Name[:strings.LastIndex(r.Name, "/")]
			out = append(out, fmt.Sprintf("%s %s", name, r.Match.Path.Value))
		}
	}
	return out
}

func TestOrderOnOneHost(t *testing.T) {
	route := func(name, created, hostname, paths string) string {
		return "kind: HTTPRoute\nmetadata: {name: " + name + ", namespace: shop, creationTimestamp: '" + created + "'}\nspec: {parentRefs: [{name: edge}], hostnames: ['" + hostname + "'], rules: [" + paths + "]}"
	}
	rule := func(path string) string { return "{matches: [{path: {value: " + path + "}}]}" }
	const day1, day2 = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
	gateway := gatewayYAML("{name: http, port: 80, protocol: HTTP, hostname: a.example}")
	for _, c := range []struct {
		name   string
		routes []string
		want   []string
	}{
		{"longer prefixes first, across routes", []string{route("r1", day1, "a.example", rule("/")), route("r2", day2, "a.example", rule("/a"))}, []string{"shop/r2 /a", "shop/r1 /"}},
		{"the older of equal ones", []string{route("r1", day2, "a.example", rule("/")), route("r2", day1, "a.example", rule("/"))}, []string{"shop/r2 /"}},
		{"the first by name of equally old ones", []string{route("r2", day1, "a.example", rule("/")), route("r1", day1, "a.example", rule("/"))}, []string{"shop/r1 /"}},
		{"the order of rules of one route", []string{route("r1", day1, "a.example", rule("/b")+", "+rule("/a"))}, []string{"shop/r1 /b", "shop/r1 /a"}},
		{"the more specific host name of the route before all else", []string{route("r1", day1, "*.example", rule("/a")), route("r2", day2, "a.example", rule("/"))}, []string{"shop/r2 /", "shop/r1 /a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, append(c.routes, classYAML, gateway)...)
			equal(t, routesOf(w, "shop/edge/80", "a.example"), c.want)
		})
	}
}

func TestShadowedRuleNamesTheWinner(t *testing.T) {
	route := func(name string) string {
		return "kind: HTTPRoute\nmetadata: {name: " + name + ", namespace: shop}\nspec: {parentRefs: [{name: edge}], hostnames: [a.example], rules: [{name: all}, {matches: [{path: {value: /" + name + "}}]}]}"
	}
	w := with(t, classYAML, edge, route("one"), route("two"))
	one, two := w.finding("HTTPRoute", "shop/one"), w.finding("HTTPRoute", "shop/two")
	if hasStep(one, verdict.Warning, verdict.Shadowed) {
		t.Errorf("the winner has the steps %v", one.Steps)
	}
	if !two.Serves || !hasStep(two, verdict.Warning, verdict.Shadowed) {
		t.Fatalf("serves %v, steps %v", two.Serves, two.Steps)
	}
	last := two.Steps[len(two.Steps)-1]
	equal(t, last.Message, `a match of rule "all" is never reached on a.example: an equal one of rule "all" of HTTPRoute shop/one goes before it`)

	w.apply("kind: HTTPRoute\nmetadata: {name: three, namespace: shop}\nspec: {parentRefs: [{name: edge}], hostnames: [a.example], rules: [{}]}")
	three := w.finding("HTTPRoute", "shop/three")
	if three.Serves == hasStep(three, verdict.WasExcluded, verdict.Shadowed) {
		t.Errorf("serves %v, steps %v", three.Serves, three.Steps)
	}
}

// Reordering rules keeps every name: it comes from identity and content.
func TestNamesOfRoutesComeFromContent(t *testing.T) {
	names := func(rules string) map[string]bool {
		w := with(t, classYAML, edge, "kind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: edge}], rules: ["+rules+"]}")
		table := w.hostsOf("shop/edge/8080")
		out := map[string]bool{}
		for _, r := range table[0].Routes {
			out[r.Name] = true
		}
		return out
	}
	a, b := "{matches: [{path: {value: /a}}]}", "{matches: [{path: {value: /b}}]}"
	equal(t, names(a+", "+b), names(b+", "+a))
	if n := len(names(a + ", " + b)); n != 2 {
		t.Errorf("two matches have %d names", n)
	}
}

// Each HTTPS listener has a table of its own, in which the names of the others
// are misdirected.
func TestTablesOfHTTPSListeners(t *testing.T) {
	pairs := testPairs(t)
	tls := "tls: {certificateRefs: [{name: s}]}"
	w := with(t, classYAML, "kind: Secret\nmetadata: {name: s, namespace: shop}\ndata: "+pairs["good"], gatewayYAML(
		"{name: any, port: 443, protocol: HTTPS, "+tls+"}",
		"{name: wild, port: 443, protocol: HTTPS, hostname: '*.example', "+tls+"}",
		"{name: apex, port: 443, protocol: HTTPS, hostname: a.example, "+tls+"}",
		"{name: dark, port: 443, protocol: HTTPS, hostname: dark.example, tls: {certificateRefs: [{name: absent}]}}",
	), "kind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: edge}], hostnames: [a.example, b.example, c.test], rules: [{}]}")

	hosts := func(table string) string {
		found := w.hostsOf(table)
		var out []string
		for _, h := range found {
			switch {
			case h.Misdirected:
				out = append(out, h.Domain+" 421")
			case len(h.Routes) == 0:
				out = append(out, h.Domain+" 404")
			default:
				out = append(out, h.Domain)
			}
		}
		return strings.Join(out, ", ")
	}
	equal(t, hosts("shop/edge/443/any"), "* 404, *.example 421, a.example 421, c.test, dark.example 421")
	equal(t, hosts("shop/edge/443/wild"), "* 421, *.example 404, a.example 421, b.example, dark.example 421")
	equal(t, hosts("shop/edge/443/apex"), "* 421, *.example 421, a.example, dark.example 421")
	equal(t, hosts("shop/edge/443/dark"), "")

	l, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/443")
	var order []string
	for _, c := range l.Chains {
		order = append(order, c.Name)
	}
	equal(t, order, []string{"apex", "wild", "any"})
	equal(t, l.Protocol, model.HTTPS)
	overlapping := conditionText(w.finding("Gateway", "shop/edge").Status.Listeners[2].Conditions)
	if !strings.Contains(overlapping, "OverlappingTLSConfig=True OverlappingHostnames") {
		t.Errorf("conditions %s", overlapping)
	}
}

// Where a port has very many HTTPS listeners, a table names only those others that
// its own domain covers, and everything else is misdirected.
func TestTablesOfManyHTTPSListeners(t *testing.T) {
	tls := "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: s}]}"
	listeners := []string{"{name: any, " + tls + "}", "{name: wild, hostname: '*.w.example', " + tls + "}", "{name: below, hostname: x.w.example, " + tls + "}"}
	for i := range crowd {
		listeners = append(listeners, fmt.Sprintf("{name: l%d, hostname: l%d.example, %s}", i, i, tls))
	}
	w := with(t, classYAML, "kind: Secret\nmetadata: {name: s, namespace: shop}\ndata: "+testPairs(t)["good"], gatewayYAML(listeners...))
	domains := func(table string) (own, wrong []string) {
		for _, h := range w.hostsOf(table) {
			if h.Misdirected {
				wrong = append(wrong, h.Domain)
			} else {
				own = append(own, h.Domain)
			}
		}
		return own, wrong
	}
	own, wrong := domains("shop/edge/443/l7")
	equal(t, [][]string{own, wrong}, [][]string{{"l7.example"}, {"*"}})
	own, wrong = domains("shop/edge/443/wild")
	equal(t, [][]string{own, wrong}, [][]string{{"*.w.example"}, {"*", "x.w.example"}})
	own, wrong = domains("shop/edge/443/any")
	equal(t, own, []string{"*"})
	equal(t, len(wrong), crowd+2)
}
