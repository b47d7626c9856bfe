package index_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

func TestTheOlderServiceWins(t *testing.T) {
	x := indexOf(options, service("young", 1), service("old", 2), slice("1", "young", "10.0.0.1"), slice("2", "old", "10.0.0.2"))
	expect(t, addresses(t, x, "orders", false), "10.0.0.2:5433")
	p := x.Problems()
	want := "Service shop/young is not used: deployment orders is served by Service shop/old, which is older; give one of them another name"
	if len(p) != 1 || p[0].Reason != index.Conflict || p[0].String() != want || p[0].UID != "young" {
		t.Errorf("problems %v", p)
	}
}

func TestOfEquallyOldTheFirstNameWins(t *testing.T) {
	other := service("a", 1)
	other.Namespace = "zoo"
	x := indexOf(options, other, service("b", 1), service("c", 1))
	expect(t, addresses(t, x, "orders", false), "b.shop.svc.cluster.local:5432")
	if p := x.Problems(); len(p) != 2 || !strings.Contains(p[0].Message, "which is as old and goes before it by name") {
		t.Errorf("problems %v", p)
	}
}

// Sessions follow the table: those of a Service that does not serve any more end.
func TestWhoLosesLosesItsSessions(t *testing.T) {
	x := indexOf(options, service("young", 1), slice("1", "young", "10.0.0.1"))
	e := x.SetService(service("old", 2))
	expect(t, gone(e), "10.0.0.1:5433", "young.shop.svc.cluster.local:5432")
	if len(e.Told) != 2 {
		t.Errorf("told %v, want both", e.Told)
	}
	e = x.RemoveService(service("old", 2))
	expect(t, gone(e), "old.shop.svc.cluster.local:5432")
	expect(t, addresses(t, x, "orders", false), "10.0.0.1:5433")
}

// A claim that cannot be served is not another's: its clients would end up elsewhere.
func TestNobodyInheritsABrokenClaim(t *testing.T) {
	x := indexOf(options, service("young", 1), service("old", 2, "destination-port", "0"))
	expect(t, addresses(t, x, "orders", false))
}

func TestKnown(t *testing.T) {
	x := indexOf(options, service("a", 1), service("b", 1, "deployment-id", "Orders", "pooled", "true"), service("c", 1, "deployment-id", "BILLING"))
	for name, want := range map[string]string{
		"orders": "orders", "Orders": "Orders", "ORDERS": "Orders", "billing": "BILLING", "nowhere": "",
	} {
		if got, ok := x.Known(name); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t; want %q", name, got, ok, want)
		}
	}
	x.RemoveService(service("b", 1))
	if got, ok := x.Known("ORDERS"); got != "orders" || !ok {
		t.Errorf("got %q, %t after one of them is gone", got, ok)
	}
}

func TestDescribe(t *testing.T) {
	x := indexOf(options, service("young", 1), service("old", 2), slice("1", "old", "10.0.0.2!", "10.0.0.1"))
	d, ok := x.Describe("orders", false)
	if !ok || d.Service != "shop/old" || d.ByName != "" || len(d.Problems) != 1 {
		t.Errorf("got %+v", d)
	}
	expect(t, d.Losers, "shop/young")
	if len(d.Endpoints) != 2 || !d.Endpoints[0].Ready || d.Endpoints[1].Ready {
		t.Errorf("endpoints %+v", d.Endpoints)
	}
	if _, ok := x.Describe("orders", true); ok {
		t.Error("its pool is described, which nobody claims")
	}
}
