package compile

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

func TestListenerConflicts(t *testing.T) {
	for _, c := range []struct {
		name      string
		listeners []string
		want      string // name and condition of each listener
	}{
		{"distinct by port", []string{"{name: a, port: 80, protocol: HTTP}", "{name: b, port: 81, protocol: HTTP}"}, "a NoConflicts, b NoConflicts"},
		{"distinct by host name", []string{"{name: a, port: 80, protocol: HTTP}", "{name: b, port: 80, protocol: HTTP, hostname: a.example}"}, "a NoConflicts, b NoConflicts"},
		{"one host name, whatever its case", []string{"{name: a, port: 80, protocol: HTTP, hostname: A.example}", "{name: b, port: 80, protocol: HTTP, hostname: a.example}", "{name: c, port: 80, protocol: HTTP}"}, "a HostnameConflict, b HostnameConflict, c NoConflicts"},
		{"HTTP and HTTPS", []string{"{name: a, port: 80, protocol: HTTP}", "{name: b, port: 80, protocol: HTTPS, hostname: a.example, tls: {}}", "{name: c, port: 81, protocol: HTTP}"}, "a ProtocolConflict, b ProtocolConflict, c NoConflicts"},
		{"TCP takes its port alone", []string{"{name: a, port: 80, protocol: TCP}", "{name: b, port: 80, protocol: HTTP}"}, "a ProtocolConflict, b ProtocolConflict"},
		{"two of TCP", []string{"{name: a, port: 80, protocol: TCP}", "{name: b, port: 80, protocol: TCP}"}, "a ProtocolConflict, b ProtocolConflict"},
		{"two of UDP", []string{"{name: a, port: 80, protocol: UDP}", "{name: b, port: 80, protocol: UDP}"}, "a ProtocolConflict, b ProtocolConflict"},
		{"UDP beside any other", []string{"{name: a, port: 80, protocol: UDP}", "{name: b, port: 80, protocol: TCP}", "{name: c, port: 81, protocol: UDP}", "{name: d, port: 81, protocol: HTTPS, tls: {}}"}, "a NoConflicts, b NoConflicts, c NoConflicts, d NoConflicts"},
		{"what is not served conflicts with nothing", []string{"{name: a, port: 80, protocol: example.net/own}", "{name: b, port: 80, protocol: HTTP}"}, "a NoConflicts, b NoConflicts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, gatewayYAML(c.listeners...))
			var got []string
			for _, l := range w.finding("Gateway", "shop/edge").Status.Listeners {
				got = append(got, l.Name+" "+l.Conditions[1].Reason)
			}
			equal(t, strings.Join(got, ", "), c.want)
		})
	}
}

func TestConflictedListenersDoNotServe(t *testing.T) {
	w := with(t, classYAML, gatewayYAML("{name: a, port: 80, protocol: TCP}", "{name: b, port: 80, protocol: HTTP}"))
	f := w.finding("Gateway", "shop/edge")
	equal(t, conditionText(f.Status.Conditions), "Accepted=False ListenersNotValid, Programmed=False Invalid")
	equal(t, conditionText(f.Status.Listeners[0].Conditions),
		"Accepted=False ProtocolConflict, Conflicted=True ProtocolConflict, ResolvedRefs=True ResolvedRefs, Programmed=False ProtocolConflict")
	if len(w.dumpModel(w.state)) > 0 {
		t.Errorf("something serves: %v", w.dumpModel(w.state))
	}
}

// gatewayYAML is the Gateway shop/edge with these listeners, in flow style.
func gatewayYAML(listeners ...string) string {
	return "kind: Gateway\nmetadata: {name: edge, namespace: shop, generation: 3}\nspec:\n  gatewayClassName: gatehouse\n  listeners:\n  - " +
		strings.Join(listeners, "\n  - ") + "\n"
}

// A route at a listener that is not accepted has no effect, not even where another
// listener of the port serves.
func TestRouteAtAConflictedListener(t *testing.T) {
	w := with(t, classYAML, gatewayYAML(
		"{name: a, port: 80, protocol: HTTP, hostname: a.example}", "{name: b, port: 80, protocol: HTTP, hostname: A.example}", "{name: c, port: 80, protocol: HTTP}"),
		"kind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: edge, sectionName: a}], rules: [{}]}")
	f := w.finding("HTTPRoute", "shop/r")
	if f.Serves || !hasStep(f, verdict.WasExcluded, verdict.ParentNotServing) {
		t.Errorf("serves %v, steps %v", f.Serves, f.Steps)
	}
	equal(t, routesOf(w, "shop/edge/80", "a.example"), []string(nil))
}
