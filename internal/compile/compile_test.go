package compile

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

func TestShopBecomesAModel(t *testing.T) {
	w := with(t, classYAML, edge, checkout, pay)

	listener, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/8080")
	table, _ := derive.Lookup(w.state, w.out.Model.Tables, "shop/edge/8080")
	cluster, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|shop/pay:80")
	endpoints, _ := derive.Lookup(w.state, w.out.Model.Endpoints, "shop/pay:80")

	equal(t, listener, model.Listener{
		Gateway: "shop/edge", Port: 8080, Protocol: model.HTTP, Table: "shop/edge/8080",
		Origins: []model.Ref{{Collection: "Gateway", Name: "shop/edge"}},
	})
	equal(t, table, model.RouteTable{ID: "shop/edge/8080", Gateway: "shop/edge"})
	hosts := w.hostsOf("shop/edge/8080")
	equal(t, hosts, []model.VirtualHost{
		{Table: "shop/edge/8080", Gateway: "shop/edge", Domain: "*", Origins: []model.Ref{{Collection: "Gateway", Name: "shop/edge"}}},
		{
			Table: "shop/edge/8080", Gateway: "shop/edge", Domain: "shop.example",
			Origins: []model.Ref{{Collection: "Gateway", Name: "shop/edge"}},
			Routes: []model.Route{{
				Name:    hosts[1].Routes[0].Name,
				Match:   model.Match{Path: model.PathMatch{Kind: model.PathPrefix, Value: "/pay"}},
				Forward: &model.Forward{Backends: []model.WeightedBackend{{Cluster: "shop/pay:80", Weight: 1}}},
				Origins: []model.Ref{{Collection: "HTTPRoute", Name: "shop/checkout"}},
			}},
		},
	})
	equal(t, cluster, model.Cluster{
		ID: "shop/pay:80", Gateway: "shop/edge", Protocol: model.UpstreamHTTP1,
		Origins: []model.Ref{{Collection: "Service", Name: "shop/pay"}},
	})
	equal(t, endpoints.Addresses, []model.Endpoint{
		{Address: netip.MustParseAddrPort("10.0.0.1:8080")},
		{Address: netip.MustParseAddrPort("10.0.0.2:8080")},
		{Address: netip.MustParseAddrPort("10.0.0.3:8080"), Draining: true},
	})
	for object, f := range w.out.Findings.All(w.state) {
		if !f.Serves || f.Failed {
			t.Errorf("%s does not serve: %v", object, f.Steps)
		}
	}
	equal(t, conditionText(w.finding("HTTPRoute", "shop/checkout").Status.Parents[0].Conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs")
	status := w.finding("Gateway", "shop/edge").Status
	equal(t, conditionText(status.Conditions), "Accepted=True Accepted")
	equal(t, conditionText(status.Listeners[0].Conditions), "Accepted=True Accepted, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs")
	equal(t, status.Listeners[0].AttachedRoutes, int32(1))
	equal(t, status.Listeners[0].Resource, "shop/edge/default/8080")
}

func equal(t testing.TB, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("difference (- want, + got):\n%s", diff)
	}
}
