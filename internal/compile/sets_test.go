package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// setYAML is a ListenerSet of the Gateway shop/edge with these listeners, in flow style.
func setYAML(namespace, name, created string, listeners ...string) string {
	return fmt.Sprintf("kind: ListenerSet\nmetadata: {name: %s, namespace: %s, generation: 4, creationTimestamp: '%s'}\nspec:\n  parentRef: {name: edge, namespace: shop}\n  listeners:\n  - ",
		name, namespace, created) + strings.Join(listeners, "\n  - ") + "\n"
}

// open is gatewayYAML for ListenerSets of all namespaces.
func openYAML(listeners ...string) string {
	return strings.Replace(gatewayYAML(listeners...), "\n  listeners:", "\n  allowedListeners: {namespaces: {from: All}}\n  listeners:", 1)
}

const (
	january  = "2026-01-01T00:00:00Z"
	february = "2026-02-01T00:00:00Z"
)

// listenersOf are the listeners of an object with the reason of Accepted and whether
// they are programmed as far as compile decides.
func listenersOf(f Finding) string {
	var out []string
	for _, l := range f.Status.Listeners {
		served := ""
		if l.Resource != "" {
			served = " serves"
		}
		out = append(out, l.Name+" "+l.Conditions[0].Reason+served)
	}
	return strings.Join(out, ", ")
}

// What the conformance tests of Gateway API expect of conflicts: the Gateway's own
// listeners first, then the older set, ties by name; each loser alone is refused.
func TestPrecedenceOfListeners(t *testing.T) {
	own := openYAML("{name: own, port: 80, protocol: HTTP, hostname: own.example}", "{name: more, port: 80, protocol: HTTP, hostname: more.example}")
	for _, c := range []struct {
		name string
		sets []string
		want map[string]string
	}{
		{"a host name of the Gateway", []string{
			setYAML("shop", "s", january, "{name: a, port: 80, protocol: HTTP, hostname: own.example}", "{name: b, port: 80, protocol: HTTP, hostname: b.example}"),
		}, map[string]string{"shop/s": "a HostnameConflict, b Accepted serves"}},
		{"a protocol of the Gateway's port", []string{
			setYAML("shop", "s", january, "{name: a, port: 80, protocol: TCP}", "{name: b, port: 80, protocol: HTTP, hostname: b.example}"),
		}, map[string]string{"shop/s": "a ProtocolConflict, b Accepted serves"}},
		{"by age", []string{
			setYAML("shop", "a", february, "{name: x, port: 80, protocol: HTTP, hostname: x.example}"), setYAML("shop", "b", january, "{name: x, port: 80, protocol: HTTP, hostname: x.example}"),
		}, map[string]string{"shop/a": "x HostnameConflict", "shop/b": "x Accepted serves"}},
		{"by namespace and name", []string{
			setYAML("b", "a", january, "{name: x, port: 90, protocol: TCP}"), setYAML("a", "b", january, "{name: x, port: 90, protocol: HTTP}"),
		}, map[string]string{"b/a": "x ProtocolConflict", "a/b": "x Accepted serves"}},
		{"two TCP listeners", []string{
			setYAML("a", "a", january, "{name: x, port: 90, protocol: TCP}"), setYAML("a", "b", january, "{name: x, port: 90, protocol: TCP}"),
		}, map[string]string{"a/a": "x Accepted serves", "a/b": "x ProtocolConflict"}},
		{"what a loser wanted is free", []string{
			setYAML("a", "a", january, "{name: x, port: 80, protocol: TCP}", "{name: v, port: 90, protocol: HTTP}", "{name: z, port: 90, protocol: TCP}"),
			setYAML("a", "b", january, "{name: x, port: 90, protocol: HTTP}"),
		}, map[string]string{"a/a": "x ProtocolConflict, v ProtocolConflict, z ProtocolConflict", "a/b": "x Accepted serves"}},
		{"a listener without a certificate", []string{
			setYAML("a", "a", january, "{name: x, port: 443, protocol: HTTPS, hostname: x.example, tls: {certificateRefs: [{name: absent}]}}"),
			setYAML("a", "b", january, "{name: x, port: 443, protocol: TCP}"),
		}, map[string]string{"a/a": "x Accepted", "a/b": "x Accepted serves"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, append([]string{classYAML, own}, c.sets...)...)
			equal(t, listenersOf(w.finding("Gateway", "shop/edge")), "own Accepted serves, more Accepted serves")
			for set, want := range c.want {
				equal(t, listenersOf(w.finding("ListenerSet", set)), want)
			}
		})
	}
}

func TestConditionsOfListenerSets(t *testing.T) {
	w := with(t, classYAML, openYAML("{name: own, port: 80, protocol: HTTP}"),
		setYAML("a", "good", january, "{name: x, port: 81, protocol: HTTP}"),
		setYAML("a", "partly", january, "{name: x, port: 80, protocol: HTTP}", "{name: v, port: 82, protocol: HTTP}"),
		setYAML("a", "bad", january, "{name: x, port: 80, protocol: HTTP}"))

	var got []string
	for _, name := range []string{"good", "partly", "bad"} {
		f := w.finding("ListenerSet", "a/"+name)
		got = append(got, fmt.Sprintf("%s %v %s", name, f.Serves, conditionText(f.Status.Conditions)))
		equal(t, f.Status.Conditions[0].ObservedGeneration, int64(4))
	}
	equal(t, got, []string{
		"good true Accepted=True Accepted", "partly true Accepted=True ListenersNotValid",
		"bad false Accepted=False ListenersNotValid, Programmed=False ListenersNotValid",
	})
	equal(t, w.finding("Gateway", "shop/edge").Status.AttachedSets, int32(2))
}

// A Gateway whose own listeners all fail is accepted by those of a ListenerSet.
func TestGatewayByAListenerSetOnly(t *testing.T) {
	w := with(t, classYAML, openYAML("{name: own, port: 80, protocol: example.net/odd}"), setYAML("a", "s", january, "{name: x, port: 81, protocol: HTTP}"))
	f := w.finding("Gateway", "shop/edge")
	equal(t, conditionText(f.Status.Conditions), "Accepted=True ListenersNotValid")
	equal(t, f.Status.SetResources, []string{"shop/edge/default/81"})
}

// A namespace that loses the label takes its ListenerSets along, and nothing else.
func TestListenerSetsBySelector(t *testing.T) {
	gateway := strings.Replace(openYAML("{name: own, port: 80, protocol: HTTP}"), "from: All", "from: Selector, selector: {matchLabels: {team: red}}", 1)
	w := with(t, classYAML, gateway, "kind: Namespace\nmetadata: {name: a, labels: {team: red}}", setYAML("a", "s", january, "{name: x, port: 81, protocol: HTTP}"))
	if f := w.finding("ListenerSet", "a/s"); !f.Serves {
		t.Fatalf("steps %v", f.Steps)
	}
	if f := w.finding("Namespace", "a"); !f.Serves {
		t.Errorf("the namespace has no effect: %v", f.Steps)
	}
	w.apply("kind: Namespace\nmetadata: {name: a}")
	f := w.finding("ListenerSet", "a/s")
	equal(t, conditionText(f.Status.Conditions), "Accepted=False NotAllowed, Programmed=False NotAllowed")
	equal(t, listenersOf(w.finding("Gateway", "shop/edge")), "own Accepted serves")
}

// A route finds listeners by the object that its parentRef names, and by no other.
func TestRoutesAtListenerSets(t *testing.T) {
	w := with(t, classYAML, openYAML("{name: own, port: 80, protocol: HTTP, hostname: own.example}"),
		setYAML("a", "s", january, "{name: x, port: 80, protocol: HTTP, hostname: x.example}", "{name: v, port: 81, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}"))
	for _, c := range []struct {
		namespace, parent, want string
	}{
		{"shop", "{name: edge}", "own.example|80"},
		{"shop", "{name: edge, sectionName: x}", "NoMatchingParent"},
		{"shop", "{name: edge, port: 81}", "NoMatchingParent"},
		{"a", "{kind: ListenerSet, name: s}", "x.example|80 *|81"},
		{"a", "{kind: ListenerSet, name: s, sectionName: x}", "x.example|80"},
		{"a", "{kind: ListenerSet, name: s, port: 81}", "*|81"},
		{"a", "{kind: ListenerSet, name: s, sectionName: own}", "NoMatchingParent"},
		{"shop", "{kind: ListenerSet, name: s, namespace: a}", "*|81"},
		{"shop", "{kind: ListenerSet, name: s, namespace: a, sectionName: x}", "NotAllowedByListeners"},
	} {
		t.Run(c.parent+" from "+c.namespace, func(t *testing.T) {
			v := *w
			v.t = t
			v.apply("kind: HTTPRoute\nmetadata: {name: r, namespace: " + c.namespace + "}\nspec: {parentRefs: [" + c.parent + "], rules: [{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}]}")
			accepted := v.finding("HTTPRoute", c.namespace+"/r").Status.Parents[0].Conditions[0]
			if accepted.Status == conditionFalse {
				equal(t, accepted.Reason, c.want)
				return
			}
			var got []string
			for _, port := range []string{"80", "81"} {
				for _, h := range v.hostsOf("shop/edge/" + port) {
					if len(h.Routes) > 0 {
						got = append(got, h.Domain+"|"+port)
					}
				}
			}
			equal(t, strings.Join(got, " "), c.want)
		})
	}
}

// A route that attaches to a wildcard listener of the Gateway and to the exact one of
// a ListenerSet is told nothing of isolation; each host is served by its listener.
func TestIsolationAcrossObjects(t *testing.T) {
	w := with(t, classYAML, openYAML("{name: wild, port: 80, protocol: HTTP, hostname: '*.example', allowedRoutes: {namespaces: {from: All}}}"),
		setYAML("a", "s", january, "{name: exact, port: 80, protocol: HTTP, hostname: x.example}"),
		"kind: HTTPRoute\nmetadata: {name: both, namespace: a}\nspec: {parentRefs: [{name: edge, namespace: shop}, {kind: ListenerSet, name: s}], hostnames: [x.example, y.example], rules: [{}]}",
		"kind: HTTPRoute\nmetadata: {name: one, namespace: a}\nspec: {parentRefs: [{name: edge, namespace: shop}], hostnames: [x.example], rules: [{}]}")
	equal(t, routesOf(w, "shop/edge/80", "x.example"), []string{"a/both /"})
	if f := w.finding("HTTPRoute", "a/both"); hasStep(f, verdict.Warning, verdict.ListenerIsolation) {
		t.Errorf("steps %v", f.Steps)
	}
	if f := w.finding("HTTPRoute", "a/one"); f.Serves || !hasStep(f, verdict.WasExcluded, verdict.ListenerIsolation) {
		t.Errorf("serves %v, steps %v", f.Serves, f.Steps)
	}
}

// One of many ListenerSets costs its own routes and functions that run once,
// however many others there are.
func TestWorkOfOneListenerSet(t *testing.T) {
	attachments := map[string]int{"is created": 0, "moves": 1, "is deleted": 1}
	for name, of := range map[string]numberedSet{
		"HTTP": {listener: "port: 81, protocol: HTTP", few: 10}, "HTTPS": {listener: "port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: s}]}", few: crowd + 10},
	} {
		edits := map[string]func(w *world) derive.Result{
			"is created": func(w *world) derive.Result { return w.apply(of.set(99999, "")) },
			"moves":      func(w *world) derive.Result { return w.apply(of.set(7, "new.")) },
			"is deleted": func(w *world) derive.Result { return w.remove("ListenerSet", "shop/s7") },
		}
		ran := map[string][]string{}
		for _, n := range []int{of.few, 300} {
			base := of.world(t, n)
			for name, apply := range edits {
				w := *base
				work := apply(&w).Work.Functions
				equal(t, work["attachment"], attachments[name])
				var got []string
				for function, times := range sortedMap(work) {
					got = append(got, fmt.Sprintf("%s %d", function, times))
				}
				ran[name] = append(ran[name], strings.Join(got, ", "))
			}
		}
		for edit, each := range ran {
			if each[0] != each[1] {
				t.Errorf("a ListenerSet of %s %s:\namong %d:  %s\namong 300: %s", name, edit, of.few, each[0], each[1])
			}
		}
	}
}

// numberedSet is a kind of ListenerSets with a listener each, and how many are few.
type numberedSet struct {
	listener string
	few      int
}

func (s numberedSet) world(t *testing.T, n int) *world {
	t.Helper()
	documents := []string{
		classYAML, openYAML("{name: own, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}"),
		"kind: Secret\nmetadata: {name: s, namespace: shop}\ndata: " + testPairs(t)["good"],
	}
	for i := range n {
		documents = append(documents, s.set(i, ""), fmt.Sprintf(
			"kind: HTTPRoute\nmetadata: {name: r%d, namespace: shop}\nspec: {parentRefs: [{kind: ListenerSet, name: s%d}], rules: [{}]}", i, i))
	}
	return with(t, documents...)
}

func (s numberedSet) set(i int, prefix string) string {
	return setYAML("shop", fmt.Sprintf("s%d", i), january, fmt.Sprintf("{name: one, hostname: %sh%d.example, %s}", prefix, i, s.listener))
}
