package compile

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

func tcpRoute(name, refs string) string {
	return "kind: TCPRoute\nmetadata: {name: " + name + ", namespace: shop}\nspec: {parentRefs: [{name: edge}], rules: [{backendRefs: [" + refs + "]}]}"
}

func TestTCPRoute(t *testing.T) {
	gateway := gatewayYAML("{name: db, port: 5432, protocol: TCP}")
	for _, c := range []struct {
		name string
		refs string
		want *model.Forward
	}{
		{"weights", "{name: one, port: 80, weight: 3}, {name: absent, port: 80, weight: 1}", &model.Forward{Backends: []model.WeightedBackend{{Cluster: "tcp/shop/one:80", Weight: 3}, {Weight: 1}}}},
		{"all weights 0", "{name: one, port: 80, weight: 0}", nil},
		{"nothing there", "{name: absent, port: 80}", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, classYAML, gateway, oneService, tcpRoute("r", c.refs))
			l, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/5432")
			equal(t, l.Stream, c.want)
			equal(t, l.Protocol, model.TCP)
			if f := w.finding("TCPRoute", "shop/r"); !f.Serves {
				t.Errorf("steps %v", f.Steps)
			}
			equal(t, w.finding("Gateway", "shop/edge").Status.Listeners[0].AttachedRoutes, int32(1))
		})
	}
}

func TestTCPClusterHasEndpoints(t *testing.T) {
	w := with(t, classYAML, gatewayYAML("{name: db, port: 5432, protocol: TCP}"), pay, tcpRoute("r", "{name: pay, port: 80}"))
	cluster, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|tcp/shop/pay:80")
	endpoints, _ := derive.Lookup(w.state, w.out.Model.Endpoints, "tcp/shop/pay:80")
	equal(t, cluster.Protocol, model.UpstreamTCP)
	equal(t, len(endpoints.Addresses), 3)
}

func TestOneTCPRouteAListener(t *testing.T) {
	w := with(t, classYAML, gatewayYAML("{name: db, port: 5432, protocol: TCP}"), oneService, tcpRoute("one", "{name: one, port: 80}"), tcpRoute("two", "{name: one, port: 80}"))
	one, two := w.finding("TCPRoute", "shop/one"), w.finding("TCPRoute", "shop/two")
	if !one.Serves || two.Serves || !hasStep(two, verdict.WasExcluded, verdict.Conflicted) {
		t.Errorf("one %v, two %v", one.Steps, two.Steps)
	}
	equal(t, conditionText(two.Status.Parents[0].Conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs")
}

func TestSecondRuleOfATCPRouteIsDropped(t *testing.T) {
	w := with(t, classYAML, gatewayYAML("{name: db, port: 5432, protocol: TCP}"), oneService,
		"kind: TCPRoute\nmetadata: {name: r, namespace: shop}\nspec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: one, port: 80}]}, {backendRefs: [{name: one, port: 80}]}]}")
	f := w.finding("TCPRoute", "shop/r")
	equal(t, conditionText(f.Status.Parents[0].Conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, PartiallyInvalid=True UnsupportedValue")
	if !f.Serves || f.Failed {
		t.Errorf("serves %v, failed %v", f.Serves, f.Failed)
	}
}
