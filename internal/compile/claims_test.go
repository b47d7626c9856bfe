package compile

import (
	"net/netip"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

func TestSettleClaims(t *testing.T) {
	at := func(gateway string, created int64, address string) claim {
		c := claim{Gateway: model.GatewayID(gateway), Created: created, Port: "80"}
		if address != "" {
			c.Address = netip.MustParseAddr(address)
		}
		return c
	}
	local := netip.MustParseAddr("127.0.0.1")
	for _, c := range []struct {
		name      string
		byDefault netip.Addr
		claims    []claim
		want      string // "loser < holder", several with commas
	}{
		{"alone", local, []claim{at("a/a", 1, "")}, ""},
		{"the older wins", local, []claim{at("a/a", 2, ""), at("a/b", 1, "")}, "a/a < a/b"},
		{"ties go by name", local, []claim{at("b/a", 1, ""), at("a/b", 1, "")}, "b/a < a/b"},
		{"other addresses do not matter", local, []claim{at("a/a", 1, "127.0.0.1"), at("a/b", 2, "127.0.0.2")}, ""},
		{"the default is an address", local, []claim{at("a/a", 1, "127.0.0.1"), at("a/b", 2, "")}, "a/b < a/a"},
		{"an unknown default is like no other", netip.Addr{}, []claim{at("a/a", 1, "127.0.0.1"), at("a/b", 2, "")}, ""},
		{"a wildcard takes all of its family", local, []claim{at("a/a", 2, "0.0.0.0"), at("a/b", 1, "10.0.0.1"), at("a/c", 3, "::1")}, "a/a < a/b"},
		{"the IPv6 wildcard takes both", local, []claim{at("a/a", 1, "::"), at("a/b", 2, "10.0.0.1"), at("a/c", 3, "::1")}, "a/b < a/a, a/c < a/a"},
		{"who lost holds nothing", local, []claim{at("a/a", 1, "10.0.0.1"), at("a/b", 2, "0.0.0.0"), at("a/c", 3, "10.0.0.2")}, "a/b < a/a"},
		{"two addresses of one Gateway", local, []claim{at("a/a", 1, "127.0.0.1"), at("a/a", 1, "127.0.0.2")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for i, l := range settleClaims(c.claims, c.byDefault) {
				if i > 0 {
					got += ", "
				}
				got += string(l.Gateway) + " < " + string(l.Holder)
			}
			equal(t, got, c.want)
		})
	}
}

func TestYoungerGatewayWaitsForThePort(t *testing.T) {
	const older = `
kind: Gateway
metadata: {name: zz, namespace: shop, creationTimestamp: '2026-01-01T00:00:00Z'}
spec: {gatewayClassName: gatehouse, listeners: [{name: web, port: 8080, protocol: HTTP}]}
`
	const younger = `
kind: Gateway
metadata: {name: aa, namespace: shop, creationTimestamp: '2026-01-02T00:00:00Z'}
spec: {gatewayClassName: gatehouse, listeners: [{name: web, port: 8080, protocol: HTTP}, {name: more, port: 8081, protocol: HTTP}]}
`
	w := with(t, classYAML, older, younger)

	f := w.finding("Gateway", "shop/aa")
	equal(t, conditionText(f.Status.Listeners[0].Conditions),
		"Accepted=False PortUnavailable, Conflicted=False NoConflicts, ResolvedRefs=True ResolvedRefs, Programmed=False PortUnavailable")
	equal(t, f.Status.Listeners[0].Conditions[3].Message,
		"spec.listeners[0].port: port 8080 is held by Gateway shop/zz, which is older: use another port, or set spec.addresses on one of the two")
	equal(t, conditionText(f.Status.Conditions), "Accepted=True ListenersNotValid")
	if !f.Serves || !hasStep(f, verdict.WasExcluded, verdict.PortUnavailable) {
		t.Errorf("steps %v", reasons(f))
	}

	w.remove("Gateway", "shop/zz")
	if _, ok := derive.Lookup(w.state, w.out.Model.Listeners, "shop/aa/default/8080"); !ok {
		t.Error("the port is free and the younger Gateway does not have it")
	}
}
