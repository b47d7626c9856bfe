package compile

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

func TestEndpointsOfAService(t *testing.T) {
	slice := func(name, ports, endpoints string) string {
		return "kind: EndpointSlice\nmetadata: {name: " + name + ", namespace: shop, labels: {kubernetes.io/service-name: one}}\naddressType: IPv4\nports: [" + ports + "]\nendpoints: [" + endpoints + "]"
	}
	for _, c := range []struct {
		name    string
		service string
		slices  []string
		want    string
		serves  string // names of slices that serve
	}{
		{"by name of the port", "{name: web, port: 80}", []string{slice("a", "{name: other, port: 1}, {name: web, port: 8080}", "{addresses: [10.0.0.1]}")}, "10.0.0.1:8080", "a"},
		{"a port without a name", "{port: 80}", []string{slice("a", "{port: 8080}", "{addresses: [10.0.0.1]}")}, "10.0.0.1:8080", "a"},
		{"no port of that name", "{name: web, port: 80}", []string{slice("a", "{name: other, port: 1}", "{addresses: [10.0.0.1]}")}, "", ""},
		{"ready, draining, and neither", "{port: 80}", []string{slice("a", "{port: 8080}", "{addresses: [10.0.0.1]}, {addresses: [10.0.0.2], conditions: {ready: false, serving: true, terminating: true}}, {addresses: [10.0.0.3], conditions: {ready: false, serving: true}}")}, "10.0.0.1:8080 10.0.0.2:8080~", "a"},
		{"the same address ready and draining", "{port: 80}", []string{slice("a", "{port: 8080}", "{addresses: [10.0.0.1], conditions: {ready: false, serving: true, terminating: true}}"), slice("b", "{port: 8080}", "{addresses: [10.0.0.1]}")}, "10.0.0.1:8080", "a b"},
		{"the same address twice", "{port: 80}", []string{slice("a", "{port: 8080}", "{addresses: [10.0.0.1]}"), slice("b", "{port: 8080}", "{addresses: [10.0.0.1]}")}, "10.0.0.1:8080", "a"},
		{"in order", "{port: 80}", []string{slice("a", "{port: 8080}", "{addresses: [10.0.0.9]}"), slice("b", "{port: 8080}", "{addresses: [10.0.0.1]}, {addresses: ['fe80::1']}")}, "10.0.0.1:8080 10.0.0.9:8080 [fe80::1]:8080", "a b"},
		{"a port for UDP is none for HTTP", "{port: 80}", []string{slice("a", "{port: 8080, protocol: UDP}", "{addresses: [10.0.0.1]}")}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, w := oneRoute(t, "backendRefs: [{name: one, port: 80}]", append(c.slices, "kind: Service\nmetadata: {name: one, namespace: shop}\nspec: {ports: ["+c.service+"]}")...)
			found, _ := derive.Lookup(w.state, w.out.Model.Endpoints, "shop/one:80")
			var got, serves []string
			for _, e := range found.Addresses {
				got = append(got, e.Address.String()+map[bool]string{true: "~"}[e.Draining])
			}
			equal(t, strings.Join(got, " "), c.want)
			for object, f := range w.out.Findings.All(w.state) {
				if object.Collection == "EndpointSlice" && f.Serves {
					serves = append(serves, strings.TrimPrefix(object.Name, "shop/"))
				}
			}
			equal(t, strings.Join(serves, " "), c.serves)
		})
	}
}
