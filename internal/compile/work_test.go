package compile

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// TestWorkOfOneEdit: what runs for one edit depends on the edit, and not on how
// many routes, Services and Secrets there are.
func TestWorkOfOneEdit(t *testing.T) {
	edits := []struct {
		name  string
		apply func(w *world) derive.Result
		want  map[string]int
	}{
		{"a rule changes", func(w *world) derive.Result { return w.apply(routeYAML(7, "/other", "s7")) }, map[string]int{
			"attachment": 1, "rules": 1, "acceptable": 1, "host": 1, "virtual host": 1, "exact hosts by table": 1, "share": 1, "finding HTTPRoute": 1,
		}},
		{"a route moves to another backend", func(w *world) derive.Result { return w.apply(routeYAML(7, "/", "s8")) }, map[string]int{
			"attachment": 1, "rules": 1, "acceptable": 1, "host": 1, "virtual host": 1, "exact hosts by table": 1, "share": 1, "finding HTTPRoute": 1,
			"shares by route": 1, "shares by use": 1, "shares by cluster": 1, "http cluster": 1, "http clusters by gateway": 1, "cluster": 1, "clusters by id": 1, "clusters by shown": 1,
			"endpoints": 1, "endpoint source": 1, "sources by slice": 1, "finding Service": 1, "finding EndpointSlice": 1,
		}},
		{"a route is created", func(w *world) derive.Result { return w.apply(routeYAML(99999, "/", "s7")) }, map[string]int{
			"attachment": 1, "rules": 1, "acceptable": 1, "membership": 1, "members by section": 1, "place": 1, "places by host": 1,
			"host": 1, "virtual host": 1, "exact hosts by table": 1, "table": 1, "share": 1, "shares by route": 1, "shares by use": 1, "shares by cluster": 1,
			"finding HTTPRoute": 1, "finding Gateway": 1,
		}},
		{"an endpoint changes", func(w *world) derive.Result { return w.apply(sliceYAML(7, "10.9.9.9")) }, map[string]int{
			"slices by service": 1, "endpoints": 1, "endpoint source": 1, "finding EndpointSlice": 1,
		}},
		{"an endpoint of a ServiceImport changes", func(w *world) derive.Result { return w.apply(importedYAML("10.9.9.9")) }, map[string]int{
			"slices by service": 1, "endpoints": 1, "endpoint source": 1, "finding EndpointSlice": 1,
		}},
		{"a slice of an unused Service changes", func(w *world) derive.Result {
			return w.apply(strings.ReplaceAll(sliceYAML(7, "10.9.9.9"), "s7", "unused"))
		}, map[string]int{
			"slices by service": 1, "endpoints": 1, "endpoint source": 1, "finding EndpointSlice": 1, // the slice leaves Service s7
		}},
		{"an unrelated Secret changes", func(w *world) derive.Result {
			return w.apply("kind: Secret\nmetadata: {name: other, namespace: shop}\ndata: {a: Yg==}")
		}, map[string]int{"finding Secret": 1}},
		{"an unrelated Service is created", func(w *world) derive.Result {
			return w.apply("kind: Service\nmetadata: {name: unused, namespace: shop}\nspec: {ports: [{port: 80}]}")
		}, map[string]int{"service port": 1, "services by label": 1, "external name": 1, "finding Service": 1}},
		{"an unrelated grant is created", func(w *world) derive.Result {
			return w.apply("kind: ReferenceGrant\nmetadata: {name: n, namespace: shop}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: x}], to: [{group: '', kind: Service}]}")
		}, map[string]int{"permission": 1, "permissions": 1, "finding ReferenceGrant": 1}},
		{"a label of a used Service changes", func(w *world) derive.Result {
			return w.apply("kind: Service\nmetadata: {name: s7, namespace: shop, labels: {a: b}}\nspec: {ports: [{name: http, port: 80}]}")
		}, map[string]int{"service port": 1, "services by label": 1, "external name": 1, "finding Service": 1}},
	}
	for _, n := range []int{30, 300, 3000} {
		if n > 300 && testing.Short() {
			continue
		}
		base := routes(t, n)
		for _, e := range edits {
			t.Run(fmt.Sprintf("%s among %d", e.name, n), func(t *testing.T) {
				w := *base
				w.t = t
				if got := e.apply(&w).Work.Functions; !maps.Equal(got, e.want) {
					t.Errorf("functions run:\n got %v\nwant %v", got, e.want)
				}
			})
		}
	}
}

// TestWorkBehindFilters: a listener with filters adds nothing to the work of an edit,
// and neither a change of its service that it does not see.
func TestWorkBehindFilters(t *testing.T) {
	for _, n := range []int{30, 300} {
		w := routes(t, n)
		w.apply(strings.Replace(edge, "protocol: HTTP}", "protocol: HTTP"+filtersYAML("guard")+"}", 1), guardYAML)
		want := map[string]int{
			"attachment": 1, "rules": 1, "acceptable": 1, "host": 1, "virtual host": 1, "exact hosts by table": 1, "share": 1, "finding HTTPRoute": 1,
		}
		if got := w.apply(routeYAML(7, "/other", "s7")).Work.Functions; !maps.Equal(got, want) {
			t.Errorf("a rule changes among %d:\n got %v\nwant %v", n, got, want)
		}
		got := w.apply("kind: Service\nmetadata: {name: guard, namespace: shop, labels: {a: b}}\nspec: {ports: [{port: 80}]}").Work.Functions
		if want := map[string]int{"service port": 1, "services by label": 1, "external name": 1, "finding Service": 1}; !maps.Equal(got, want) {
			t.Errorf("a label of the service changes among %d:\n got %v\nwant %v", n, got, want)
		}
		if got := w.remove(kindService, "shop/guard").Work.Functions; got["virtual host"] != n+1 || got["host"] != 0 || got["attachment"] != 0 {
			t.Errorf("the service goes among %d: %v", n, got)
		}
	}
}

// routes is a Gateway with n routes, each with a host, a Service and a slice of its own.
func routes(t testing.TB, n int) *world {
	t.Helper()
	w := newWorld(t, Options{})
	edits := decode(t, classYAML+"\n---"+edge)
	route := decode(t, routeYAML(0, "/", "s0"))[0].Value.(*gateway_v1.HTTPRoute)
	slice := decode(t, sliceYAML(0, "10.0.0.1"))[0].Value.(*discovery_v1.EndpointSlice)
	service := decode(t, "kind: Service\nmetadata: {name: s0, namespace: shop}\nspec: {ports: [{name: http, port: 80}]}")[0].Value.(*core_v1.Service)
	secret := decode(t, "kind: Secret\nmetadata: {name: s0, namespace: shop}")[0].Value.(*core_v1.Secret)
	for i := range n {
		route, slice, service, secret := route.DeepCopy(), slice.DeepCopy(), service.DeepCopy(), secret.DeepCopy()
		route.Name, slice.Name, service.Name, secret.Name = fmt.Sprintf("r%d", i), fmt.Sprintf("e%d", i), fmt.Sprintf("s%d", i), fmt.Sprintf("s%d", i)
		route.Spec.Hostnames[0] = gateway_v1.Hostname(fmt.Sprintf("h%d.example", i))
		route.Spec.Rules[0].BackendRefs[0].Name = gateway_v1.ObjectName(fmt.Sprintf("s%d", i/2*2+1))
		slice.Labels[discovery_v1.LabelServiceName] = service.Name
		for kind, object := range map[string]snapshot.Object{kindHTTPRoute: route, kindEndpointSlice: slice, kindService: service, kindSecret: secret} {
			edits = append(edits, store.Edit{Key: snapshot.Ref(kind, "shop", object.GetName()), Value: object})
		}
	}
	edits = append(edits, decode(t, importedYAML("10.0.0.1")+`
---
kind: ServiceImport
metadata: {name: far, namespace: shop}
spec: {type: ClusterSetIP, ports: [{name: http, port: 80}]}
---
kind: HTTPRoute
metadata: {name: far, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [far.example]
  rules: [{backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: far, port: 80}]}]
`)...)
	w.edit(edits...)
	return w
}

// importedYAML is the slice of a ServiceImport.
func importedYAML(address string) string {
	return strings.ReplaceAll(strings.ReplaceAll(sliceYAML(0, address), "kubernetes.io/service-name: s0", "multicluster.kubernetes.io/service-name: far"), "name: e0", "name: far")
}

func routeYAML(i int, path, service string) string {
	return fmt.Sprintf(`
kind: HTTPRoute
metadata: {name: r%d, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  hostnames: [h%d.example]
  rules:
  - matches: [{path: {value: %s}}]
    backendRefs: [{name: %s, port: 80}]
`, i, i, path, service)
}

func sliceYAML(i int, address string) string {
	return fmt.Sprintf(`
kind: EndpointSlice
metadata: {name: e%d, namespace: shop, labels: {kubernetes.io/service-name: s%d}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [%s]}]
`, i, i, address)
}
