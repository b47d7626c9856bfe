package compile

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func TestWhereARouteAttaches(t *testing.T) {
	gateway := gatewayYAML(
		"{name: any, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}",
		"{name: apex, port: 81, protocol: HTTP, hostname: a.example}",
		"{name: red, port: 82, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: red}}}}}",
		"{name: grpc, port: 83, protocol: HTTP, allowedRoutes: {namespaces: {from: All}, kinds: [{kind: GRPCRoute}]}}",
	)
	const red = "kind: Namespace\nmetadata: {name: red, labels: {team: red}}"
	const blue = "kind: Namespace\nmetadata: {name: blue, labels: {team: blue}}"
	for _, c := range []struct {
		name      string
		namespace string
		parent    string
		hostnames string
		want      string // listeners, or the reason against it
	}{
		{"all that let it in, and meet its host name", "shop", "{name: edge}", "[b.example]", "any"},
		{"all that let it in", "shop", "{name: edge}", "[a.example]", "any apex"},
		{"from another namespace", "blue", "{name: edge, namespace: shop}", "[a.example]", "any"},
		{"from a selected namespace", "red", "{name: edge, namespace: shop}", "[a.example]", "any red"},
		{"by name", "shop", "{name: edge, sectionName: apex}", "[]", "apex"},
		{"by port", "shop", "{name: edge, port: 81}", "[]", "apex"},
		{"by name and port", "shop", "{name: edge, sectionName: apex, port: 81}", "[]", "apex"},
		{"by name and another port", "shop", "{name: edge, sectionName: apex, port: 80}", "[]", "NoMatchingParent"},
		{"by an unknown name", "shop", "{name: edge, sectionName: absent}", "[]", "NoMatchingParent"},
		{"by a kind that is not let in", "shop", "{name: edge, sectionName: grpc}", "[]", "NotAllowedByListeners"},
		{"by a namespace that is not let in", "blue", "{name: edge, namespace: shop, sectionName: red}", "[]", "NotAllowedByListeners"},
		{"by a namespace without an object", "void", "{name: edge, namespace: shop, sectionName: red}", "[]", "NotAllowedByListeners"},
		{"without a host name in common", "shop", "{name: edge, sectionName: apex}", "[b.example]", "NoMatchingListenerHostname"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, gateway, red, blue, "kind: HTTPRoute\nmetadata: {name: r, namespace: "+c.namespace+", generation: 5}\nspec: {parentRefs: ["+c.parent+"], hostnames: "+c.hostnames+", rules: [{}]}")
			f := w.finding("HTTPRoute", c.namespace+"/r")
			accepted := f.Status.Parents[0].Conditions[0]
			equal(t, accepted.ObservedGeneration, int64(5))
			if accepted.Status == conditionFalse {
				equal(t, accepted.Reason, c.want)
				if f.Serves {
					t.Error("it serves and is not accepted")
				}
				return
			}
			equal(t, strings.Join(attachedTo(w), " "), c.want)
		})
	}
}

// attachedTo are the listeners that count a route as theirs.
func attachedTo(w *world) []string {
	var out []string
	for _, l := range w.finding("Gateway", "shop/edge").Status.Listeners {
		if l.AttachedRoutes > 0 {
			out = append(out, l.Name)
		}
	}
	return out
}

func TestParentsThatAreNotOurs(t *testing.T) {
	const others = `
kind: GatewayClass
metadata: {name: theirs}
spec: {controllerName: example.net/other}
---
kind: Gateway
metadata: {name: foreign, namespace: shop}
spec: {gatewayClassName: theirs, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec:
  parentRefs: [{name: foreign}, {name: absent}, {group: '', kind: Service, name: s}, {kind: ListenerSet, name: l}, {name: edge}]
  rules: [{}]
`
	w := with(t, classYAML, edge, others)
	f := w.finding("HTTPRoute", "shop/r")
	equal(t, reasons(f)[:5], []string{
		"ok OtherController", "excluded ParentNotFound", "ok UnsupportedParent", "excluded ParentNotFound", "ok Attached",
	})
	if len(f.Status.Parents) != 1 || f.Status.Parents[0].Ref.Name != "edge" {
		t.Errorf("status for %+v; only the fifth parent is ours", f.Status.Parents)
	}
	g := w.finding("Gateway", "shop/foreign")
	if g.Status != nil || !hasStep(g, verdict.WasExcluded, verdict.OtherController) {
		t.Errorf("the foreign Gateway has status %v and steps %v", g.Status, g.Steps)
	}
}

// A relabelled namespace re-runs only the routes whose answer flips.
func TestRelabelRunsOnlyWhatFlips(t *testing.T) {
	gateway := gatewayYAML("{name: red, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: red}}}}}")
	route := func(ns string) string {
		return "kind: HTTPRoute\nmetadata: {name: r, namespace: " + ns + "}\nspec: {parentRefs: [{name: edge, namespace: shop}], hostnames: [" + ns + ".example], rules: [{}]}"
	}
	w := with(t, classYAML, gateway, route("a"), route("b"),
		"kind: Namespace\nmetadata: {name: a, labels: {team: red}}", "kind: Namespace\nmetadata: {name: b, labels: {team: blue}}")

	if n := w.apply("kind: Namespace\nmetadata: {name: a, labels: {team: red, tier: gold}}").Work.Functions["attachment"]; n != 0 {
		t.Errorf("a label that no selector asks for re-ran %d attachments", n)
	}
	if n := w.apply("kind: Namespace\nmetadata: {name: b, labels: {team: red}}").Work.Functions["attachment"]; n != 1 {
		t.Errorf("a label that flips one answer re-ran %d attachments", n)
	}
	if f := w.finding("HTTPRoute", "b/r"); !f.Serves {
		t.Errorf("b/r is let in and does not serve: %v", f.Steps)
	}
}

// A listener's requests are its own: a route at a wildcard listener does not get
// those of an exact listener on the same port.
func TestListenerIsolation(t *testing.T) {
	gateway := gatewayYAML("{name: wild, port: 80, protocol: HTTP, hostname: '*.example'}", "{name: exact, port: 80, protocol: HTTP, hostname: a.example}")
	w := with(t, classYAML, gateway, `
kind: HTTPRoute
metadata: {name: r, namespace: shop}
spec: {parentRefs: [{name: edge, sectionName: wild}], hostnames: [a.example, b.example], rules: [{}]}
`)
	table := w.hostsOf("shop/edge/80")
	var got []string
	for _, h := range table {
		got = append(got, h.Domain+map[bool]string{true: " routed"}[len(h.Routes) > 0])
	}
	equal(t, got, []string{"*.example", "a.example", "b.example routed"})
	f := w.finding("HTTPRoute", "shop/r")
	if !hasStep(f, verdict.Warning, verdict.ListenerIsolation) {
		t.Errorf("steps %v", reasons(f))
	}
	if slices.ContainsFunc(f.Steps, func(s verdict.Step) bool { return s.Message == "" }) {
		t.Errorf("a step says nothing: %v", f.Steps)
	}
}
