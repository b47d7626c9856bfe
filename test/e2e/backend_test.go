package e2e

import (
	"context"
	"fmt"
	"testing"
)

// backends are what a rule's backendRefs may be.
var backends = []story{
	{
		name: "missing backend", host: "missing", rules: `  - ` + to("nowhere"),
		tries: []try{{status: 500}},
	},
	{
		name: "no backends at all", host: "none", rules: `  - matches: [{path: {type: PathPrefix, value: /none}}]`,
		tries: []try{{path: "/none", status: 500}},
	},
	{
		name: "backend of another namespace without a grant", host: "ungranted",
		rules: `  - backendRefs: [{name: vault, namespace: other, port: 80}]`,
		tries: []try{{status: 500}},
	},
	{
		name: "backend of another namespace with a grant", host: "granted",
		yaml: route("granted", "http", "granted"+domain, `  - backendRefs: [{name: open, namespace: other, port: 80}]`) + `
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: edge-may, namespace: other}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: e2e}]
  to: [{group: "", kind: Service, name: open}]
`,
		tries: []try{{from: "green"}},
	},
	{
		name: "backend of a kind that does not exist", host: "oddkind",
		rules: `  - backendRefs: [{group: example.com, kind: Rocket, name: red, port: 80}]`,
		tries: []try{{status: 500}},
	},
	{
		name: "port that the Service does not have", host: "oddport",
		rules: `  - backendRefs: [{name: red, port: 81}]`,
		tries: []try{{status: 500}},
	},
	{
		name: "Service without endpoints", host: "idle", rules: `  - ` + to("idle"),
		tries: []try{{status: 503}},
	},
	{
		name: "ServiceImport, beside a Service of its name", host: "imported",
		yaml: `apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: {name: red, namespace: e2e}
spec: {type: ClusterSetIP, ips: [127.0.0.9], ports: [{name: web, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: imported-red, namespace: e2e, labels: {multicluster.kubernetes.io/service-name: red}}
addressType: IPv4
ports: [{name: web, port: @GREEN@}]
endpoints: [{addresses: [127.0.0.1]}]
---
` + route("imported", "http", "imported"+domain, `  - matches: [{path: {value: /import}}]
    backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: red, port: 80}]
  - `+to("red")),
		tries: []try{{path: "/import", from: "green"}, {path: "/service", from: "red"}},
	},
	{
		name: "ServiceImport without EndpointSlices", host: "virtual",
		yaml: `apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: {name: virtual, namespace: e2e}
spec: {type: ClusterSetIP, ips: [127.0.0.1], ports: [{port: @BLUE@}]}
---
` + route("virtual", "http", "virtual"+domain, `  - backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: virtual, port: @BLUE@}]`),
		tries: []try{{from: "blue"}},
	},
	{
		name: "XBackend with an external host name", host: "external",
		yaml: `apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: outside, namespace: e2e}
spec: {type: ExternalHostname, externalHostname: {hostname: localhost}, port: {number: @BLUE@}}
---
` + route("external", "http", "external"+domain, `  - backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: outside}]`),
		tries: []try{{path: "/x", from: "blue", seen: "/x", asHost: "external.e2e.test"}},
	},
}

// hostnames are how routes, listeners and requests find each other.
var hostnames = []story{
	{
		name: "host of a request with port and in capitals", host: "hosts", rules: `  - ` + to("red"),
		tries: []try{
			{from: "red"},
			{host: "hosts.e2e.test:1234", from: "red"},
			{host: "HOSTS.E2E.test", from: "red"},
			{host: "nobody.e2e.test", status: 404},
		},
	},
	{
		name: "exact host before wildcard", host: "wide",
		yaml: route("wide-1", "http", "*.wide"+domain, `  - `+to("red")) + "\n---\n" + route("wide-2", "http", "one.wide"+domain, `  - `+to("green")),
		tries: []try{
			{host: "one.wide.e2e.test", from: "green"},
			{host: "two.wide.e2e.test", from: "red"},
			{host: "x.two.wide.e2e.test", from: "red"},
			{host: "wide.e2e.test", status: 404},
		},
	},
	{
		name: "namespace that the listener does not select", host: "stranger",
		yaml: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: stranger, namespace: other}
spec:
  parentRefs: [{name: edge, namespace: e2e, sectionName: a}]
  hostnames: [a.e2e.test]
  rules: [{backendRefs: [{name: open, port: 80}]}]
`,
		tries: []try{{status: 404}},
	},
	{
		name: "namespace that the listener selects", host: "guest",
		yaml: `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: guest, namespace: other}
spec:
  parentRefs: [{name: edge, namespace: e2e, sectionName: http}]
  hostnames: [guest.e2e.test]
  rules: [{backendRefs: [{name: open, port: 80}]}]
`,
		tries: []try{{from: "green"}},
	},
}

// weights are counted over many requests; every bound is more than five standard
// deviations away from what is expected.
func (s *stage) weights(t *testing.T) {
	const n = 400
	refs := func(shares ...string) string {
		list := ""
		for k := 0; k < len(shares); k += 2 {
			list += fmt.Sprintf("    - {name: %s, port: 80, weight: %s}\n", shares[k], shares[k+1])
		}
		return "  - backendRefs:\n" + list
	}
	for _, c := range []struct {
		name, rules string
		want        map[string][2]int // least and most
	}{
		{"even", refs("red", "1", "green", "1"), map[string][2]int{"red": {150, 250}, "green": {150, 250}}},
		{"canary", refs("red", "90", "green", "10"), map[string][2]int{"red": {325, 395}, "green": {5, 75}}},
		{"zero", refs("red", "1", "green", "0"), map[string][2]int{"red": {n, n}}},
		{"all-zero", refs("red", "0", "green", "0"), map[string][2]int{"500": {n, n}}},
		{"missing-share", refs("red", "1", "nowhere", "1"), map[string][2]int{"red": {150, 250}, "500": {150, 250}}},
		{"missing-zero", refs("red", "1", "nowhere", "0"), map[string][2]int{"red": {n, n}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := "w-" + c.name + domain
			s.write(t, "w-"+c.name+".yaml", route("w-"+c.name, "http", host, c.rules))
			s.eventually(t, "the route is there", func(ctx context.Context) error { return s.there(ctx, host) })
			got := s.count(t, host, "/", n)
			for who, bounds := range c.want {
				if got[who] < bounds[0] || got[who] > bounds[1] {
					t.Errorf("%d of %d answers are from %s, want %d to %d: %v", got[who], n, who, bounds[0], bounds[1], got)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("answers are from %v, want only %v", got, c.want)
			}
		})
	}
}

// there fails while a host has no route.
func (s *stage) there(ctx context.Context, host string) error {
	err := s.try(ctx, host, try{status: 404})
	if err == nil {
		return fmt.Errorf("no route for %s yet", host)
	}
	return nil
}
