package compile

import (
	"slices"
	"strings"
	"testing"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// hostText is what becomes of the requests of each host of a table.
func (w *world) hostText(table string) string {
	var out []string
	for _, h := range w.hostsOf(table) {
		text := h.Domain
		switch {
		case h.Closed:
			text += " 500"
		case h.Misdirected:
			text += " 421"
		case len(h.Routes) == 0:
			text += " 404"
		}
		for _, s := range h.Admit {
			text += " " + string(s.Cluster)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

const openRoute = "kind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: pay, port: 80}]}]}"

// Every host of a listener with filters asks its services, those without routes and
// those of other listeners of the port included, and no host of another listener does.
func TestListenerFilters(t *testing.T) {
	pairs := testPairs(t)
	tls := ", tls: {certificateRefs: [{name: s}]}"
	w := with(t, classYAML, guardYAML, pay, "kind: Secret\nmetadata: {name: s, namespace: shop}\ndata: "+pairs["good"], gatewayYAML(
		"{name: any, port: 80, protocol: HTTP}",
		"{name: wild, port: 80, protocol: HTTP, hostname: '*.example'"+filtersYAML("guard", "judge")+"}",
		"{name: apex, port: 80, protocol: HTTP, hostname: a.example}",
		"{name: tls, port: 443, protocol: HTTPS, hostname: a.example"+tls+filtersYAML("guard")+"}",
		"{name: more, port: 443, protocol: HTTPS, hostname: '*.example'"+tls+"}",
	), strings.Replace(openRoute, "rules:", "hostnames: [a.example, b.example, c.test], rules:", 1))
	equal(t, w.hostText("shop/edge/80"), "* 404, *.example 404 shop/guard:80 shop/judge:80, a.example, b.example shop/guard:80 shop/judge:80, c.test")
	equal(t, w.hostText("shop/edge/443/tls"), "* 404 shop/guard:80, *.example 421 shop/guard:80, a.example shop/guard:80")
	equal(t, w.hostText("shop/edge/443/more"), "*.example 404, a.example 421, b.example")

	plain, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/80")
	secure, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/443")
	equal(t, plain.Admits, 2)
	equal(t, []int{secure.Chains[0].Admits, secure.Chains[1].Admits}, []int{1, 0})
	for _, name := range []string{"shop/guard", "shop/judge"} {
		if f := w.finding("Service", name); !f.Serves {
			t.Errorf("Service %s serves %v, %v", name, f.Serves, f.Steps)
		}
		if _, made := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|"+name+":80"); !made {
			t.Errorf("%s has no cluster", name)
		}
	}
	w.remove("Service", "shop/judge")
	equal(t, w.hostText("shop/edge/80"), "* 404, *.example 500, a.example, b.example 500, c.test")
	w.apply(guardYAML)
	equal(t, w.hostText("shop/edge/80"), "* 404, *.example 404 shop/guard:80 shop/judge:80, a.example, b.example shop/guard:80 shop/judge:80, c.test")
}

// A filter that cannot be applied lets nothing in, says why in the words of GEP-5224,
// and leaves the listener's host names to nobody else.
func TestListenerFiltersThatCannotBeApplied(t *testing.T) {
	auth := func(spec string) string {
		return ", filters: {requests: [{type: ExternalAuth, externalAuth: {" + spec + "}}]}"
	}
	for name, c := range map[string]struct{ filters, conditions string }{
		"missing":       {filtersYAML("guard", "absent"), "Accepted=True Accepted, ResolvedRefs=False InvalidListenerFilterRef"},
		"no such port":  {auth("protocol: HTTP, backendRef: {name: guard, port: 81}"), "Accepted=True Accepted, ResolvedRefs=False InvalidListenerFilterRef"},
		"kind":          {auth("protocol: HTTP, backendRef: {group: example.net, kind: Thing, name: x}"), "Accepted=True Accepted, ResolvedRefs=False InvalidListenerFilterRef"},
		"not permitted": {auth("protocol: GRPC, backendRef: {name: far, namespace: trust, port: 80}"), "Accepted=True Accepted, ResolvedRefs=False RefNotPermitted"},
		"protocol":      {auth("protocol: SOAP, backendRef: {name: guard, port: 80}"), "Accepted=False InvalidListenerFilter, ResolvedRefs=True ResolvedRefs"},
		"path":          {auth("protocol: HTTP, backendRef: {name: guard, port: 80}, http: {path: /a/../b}"), "Accepted=False InvalidListenerFilter, ResolvedRefs=True ResolvedRefs"},
		"header":        {auth("protocol: GRPC, backendRef: {name: guard, port: 80}, grpc: {allowedHeaders: ['x y']}"), "Accepted=False InvalidListenerFilter, ResolvedRefs=True ResolvedRefs"},
		"body":          {auth("protocol: HTTP, backendRef: {name: guard, port: 80}, forwardBody: {maxSize: -1}"), "Accepted=False InvalidListenerFilter, ResolvedRefs=True ResolvedRefs"},
		"no settings":   {", filters: {requests: [{type: ExternalAuth}]}", "Accepted=False InvalidListenerFilter, ResolvedRefs=True ResolvedRefs"},
		"many":          {filtersYAML(slices.Repeat([]string{"guard"}, model.MaxAdmit+1)...), "Accepted=False InvalidListenerFilter, ResolvedRefs=True ResolvedRefs"},
		"extension": {
			", filters: {requests: [{type: ExtensionRef, extensionRef: {group: example.net, kind: Thing, name: x}}]}",
			"Accepted=False UnsupportedValue, ResolvedRefs=False InvalidListenerFilterRef",
		},
	} {
		t.Run(name, func(t *testing.T) {
			far := "kind: Service\nmetadata: {name: far, namespace: trust}\nspec: {ports: [{port: 80}]}"
			apex := "{name: apex, port: 80, protocol: HTTP, hostname: a.example" + c.filters + "}"
			w := with(t, classYAML, guardYAML, far, pay, openRoute, openYAML("{name: any, port: 80, protocol: HTTP}", apex))
			equal(t, w.hostText("shop/edge/80"), "*, a.example 500")
			f := w.finding("Gateway", "shop/edge")
			equal(t, judged(f.Status.Listeners[1]), c.conditions)
			accepted := strings.HasPrefix(c.conditions, "Accepted=True")
			if why := f.Status.Listeners[1].Conditions; f.Failed || !f.Serves || (f.Status.Listeners[1].Resource != "") != accepted || !strings.Contains(why[0].Message+why[2].Message, "spec.listeners[1].filters.requests") {
				t.Errorf("serves %v, failed %v, resource %q, %v", f.Serves, f.Failed, f.Status.Listeners[1].Resource, why)
			}
			if r := w.finding("HTTPRoute", "shop/r"); !r.Serves || !hasStep(r, verdict.WasExcluded, verdict.ParentNotServing) {
				t.Errorf("the route: serves %v, %v", r.Serves, r.Steps)
			}
			if g := w.finding("Service", "shop/guard"); g.Serves {
				t.Errorf("the service serves and is never asked: %v", g.Steps)
			}

			w = with(t, classYAML, guardYAML, far, pay, strings.Replace(openRoute, "{name: edge}", "{kind: ListenerSet, name: more}", 1), openYAML("{name: any, port: 80, protocol: HTTP}"), setYAML("shop", "more", january, apex))
			equal(t, w.hostText("shop/edge/80"), "* 404, a.example 500")
			f = w.finding("ListenerSet", "shop/more")
			equal(t, judged(f.Status.Listeners[0]), c.conditions)
			equal(t, f.Status.Conditions[0].Status == "True", accepted)

			w = with(t, classYAML, guardYAML, far, openYAML(apex))
			equal(t, w.hostText("shop/edge/80"), "a.example 500")
			equal(t, w.finding("Gateway", "shop/edge").Status.Conditions[0].Status == "True", accepted)
		})
	}
}

// judged are Accepted and ResolvedRefs of a listener.
func judged(l ListenerStatus) string {
	return conditionText(slices.DeleteFunc(slices.Clone(l.Conditions), func(c condition) bool {
		return c.Type != typeAccepted && c.Type != string(gateway_v1.ListenerConditionResolvedRefs)
	}))
}

// A service in another namespace is asked with a grant to the listener's holder.
func TestListenerFiltersWithAGrant(t *testing.T) {
	far := "kind: Service\nmetadata: {name: far, namespace: trust}\nspec: {ports: [{port: 80}]}"
	grant := "kind: ReferenceGrant\nmetadata: {name: g, namespace: trust}\nspec: {from: [{group: gateway.networking.k8s.io, kind: KIND, namespace: shop}], to: [{group: '', kind: Service}]}"
	filters := ", filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: far, namespace: trust, port: 80}}}]}"
	w := with(t, classYAML, far, strings.Replace(grant, "KIND", "Gateway", 1), openYAML("{name: any, port: 80, protocol: HTTP"+filters+"}"),
		setYAML("shop", "more", january, "{name: apex, port: 80, protocol: HTTP, hostname: a.example"+filters+"}"))
	equal(t, w.hostText("shop/edge/80"), "* 404 grpc/trust/far:80, a.example 500")
	w.apply(strings.Replace(grant, "KIND", "ListenerSet", 1))
	equal(t, w.hostText("shop/edge/80"), "* 500, a.example 404 grpc/trust/far:80")
	if f := w.finding("ReferenceGrant", "trust/g"); !f.Serves {
		t.Errorf("the grant: %v", f.Steps)
	}
}
