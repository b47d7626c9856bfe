package compile

import (
	"strings"
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

func udpRoute(name, refs string) string {
	return strings.ReplaceAll(tcpRoute(name, refs), "TCPRoute", "UDPRoute")
}

// TestUDPBesideTCP: one port number of a Gateway and of a Service is two ports.
func TestUDPBesideTCP(t *testing.T) {
	w := with(t, classYAML, gatewayYAML("{name: over-tcp, port: 53, protocol: TCP}", "{name: over-udp, port: 53, protocol: UDP}"),
		"kind: Service\nmetadata: {name: dns, namespace: shop}\nspec: {ports: [{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]}",
		"kind: EndpointSlice\nmetadata: {name: dns, namespace: shop, labels: {kubernetes.io/service-name: dns}}\naddressType: IPv4\nports: [{name: tcp, port: 1053}, {name: udp, port: 2053, protocol: UDP}]\nendpoints: [{addresses: [10.0.0.1]}]",
		tcpRoute("r", "{name: dns, port: 53}"), udpRoute("r", "{name: dns, port: 53}"))
	for _, c := range []struct {
		kind, listener, cluster, endpoint string
		protocol                          model.Protocol
	}{
		{"TCPRoute", "shop/edge/default/53", "tcp/shop/dns:53", "10.0.0.1:1053", model.TCP},
		{"UDPRoute", "shop/edge/default/53/udp", "udp/shop/dns:53", "10.0.0.1:2053", model.UDP},
	} {
		l, _ := derive.Lookup(w.state, w.out.Model.Listeners, c.listener)
		equal(t, l.Protocol, c.protocol)
		equal(t, l.Stream, &model.Forward{Backends: []model.WeightedBackend{{Cluster: model.ClusterID(c.cluster), Weight: 1}}})
		endpoints, _ := derive.Lookup(w.state, w.out.Model.Endpoints, c.cluster)
		equal(t, endpoints.Addresses[0].Address.String(), c.endpoint)
		if f := w.finding(c.kind, "shop/r"); !f.Serves {
			t.Errorf("%s: steps %v", c.kind, f.Steps)
		}
	}
	for _, l := range w.finding("Gateway", "shop/edge").Status.Listeners {
		equal(t, l.AttachedRoutes, int32(1))
	}
}
