package compile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// oneRoute is the only route on the only host of a Gateway whose HTTPRoute has one
// rule, in flow style.
func oneRoute(t *testing.T, rule string, objects ...string) (model.Route, Finding, *world) {
	t.Helper()
	w := with(t, append(objects, classYAML, edge, "kind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec:\n  parentRefs: [{name: edge}]\n  hostnames: [a.example]\n  rules:\n  - "+rule+"\n")...)
	table := w.hostsOf("shop/edge/8080")
	for _, h := range table {
		if h.Domain == "a.example" {
			return h.Routes[0], w.finding("HTTPRoute", "shop/r"), w
		}
	}
	return model.Route{}, w.finding("HTTPRoute", "shop/r"), w
}

// action is what a route does, in a line.
func action(r model.Route) string {
	switch {
	case r.Forward != nil:
		var out []string
		for _, b := range r.Forward.Backends {
			name := string(b.Cluster)
			if name == "" {
				name = "500"
			}
			out = append(out, fmt.Sprintf("%s*%d", name, b.Weight))
		}
		return strings.Join(out, " ")
	case r.Redirect != nil:
		return fmt.Sprintf("redirect %d", r.Redirect.Status)
	case r.Status != 0:
		return fmt.Sprint(r.Status)
	default:
		return "none"
	}
}

func TestBackendsOfARule(t *testing.T) {
	service := func(name, spec string) string {
		namespace, name, _ := strings.Cut(name, "/")
		return "kind: Service\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: " + spec
	}
	one, two := service("shop/one", "{ports: [{port: 80}]}"), service("shop/two", "{ports: [{port: 80}]}")
	other := service("other/one", "{ports: [{port: 80}]}")
	grant := func(to string) string {
		return "kind: ReferenceGrant\nmetadata: {name: g, namespace: other}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}], to: [" + to + "]}"
	}
	x := func(spec string) string {
		return "kind: XBackend\nmetadata: {name: x, namespace: shop}\nspec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: x.example}" + spec + "}"
	}
	const xRef = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: x}"
	policy := "kind: BackendTLSPolicy\nmetadata: {name: p, namespace: shop}\nspec: {targetRefs: [{group: '', kind: Service, name: one}], validation: {hostname: x, wellKnownCACertificates: System}}"
	for _, c := range []struct {
		name    string
		refs    string
		objects []string
		action  string
		want    string // condition ResolvedRefs
	}{
		{"one", "{name: one, port: 80}", []string{one}, "shop/one:80*1", "True ResolvedRefs"},
		{"weights", "{name: one, port: 80, weight: 9}, {name: two, port: 80, weight: 1}", []string{one, two}, "shop/one:80*9 shop/two:80*1", "True ResolvedRefs"},
		{"a weight of 0 gets nothing", "{name: one, port: 80, weight: 0}, {name: two, port: 80}", []string{one, two}, "shop/two:80*1", "True ResolvedRefs"},
		{"all weights 0", "{name: one, port: 80, weight: 0}", []string{one}, "500", "True ResolvedRefs"},
		{"no backends", "", nil, "500", "True ResolvedRefs"},
		{"one of two is missing", "{name: one, port: 80, weight: 3}, {name: absent, port: 80, weight: 1}", []string{one}, "shop/one:80*3 500*1", "False BackendNotFound"},
		{"the missing one has weight 0", "{name: one, port: 80}, {name: absent, port: 80, weight: 0}", []string{one}, "shop/one:80*1", "False BackendNotFound"},
		{"the one that is there has weight 0", "{name: one, port: 80, weight: 0}, {name: absent, port: 80}", []string{one}, "500", "False BackendNotFound"},
		{"all are missing", "{name: absent, port: 80}", nil, "500", "False BackendNotFound"},
		{"the port is missing", "{name: one, port: 81}", []string{one}, "500", "False BackendNotFound"},
		{"no port is named", "{name: one}", []string{one}, "500", "False BackendNotFound"},
		{"a port for UDP", "{name: one, port: 53}", []string{service("shop/one", "{ports: [{port: 53, protocol: UDP}]}")}, "500", "False BackendNotFound"},
		{"another kind", "{group: example.net, kind: Thing, name: one}", nil, "500", "False InvalidKind"},
		{"a ServiceImport that does not exist", "{group: multicluster.x-k8s.io, kind: ServiceImport, name: one, port: 80}", nil, "500", "False BackendNotFound"},
		{"an ExternalName Service", "{name: one, port: 80}", []string{service("shop/one", "{type: ExternalName, externalName: x.example, ports: [{port: 80}]}")}, "500", "False InvalidKind"},
		{"another namespace", "{name: one, namespace: other, port: 80}", []string{other}, "500", "False RefNotPermitted"},
		{"another namespace, permitted", "{name: one, namespace: other, port: 80}", []string{other, grant("{group: '', kind: Service}")}, "other/one:80*1", "True ResolvedRefs"},
		{"another namespace, permitted by name", "{name: one, namespace: other, port: 80}", []string{other, grant("{group: '', kind: Service, name: one}")}, "other/one:80*1", "True ResolvedRefs"},
		{"another name is permitted", "{name: one, namespace: other, port: 80}", []string{other, grant("{group: '', kind: Service, name: two}")}, "500", "False RefNotPermitted"},
		{"another kind is permitted", "{name: one, namespace: other, port: 80}", []string{other, grant("{group: '', kind: Secret}")}, "500", "False RefNotPermitted"},
		{"HTTP/2 in clear", "{name: one, port: 80}", []string{service("shop/one", "{ports: [{port: 80, appProtocol: kubernetes.io/h2c}]}")}, "shop/one:80*1", "True ResolvedRefs"},
		{"a protocol that is not spoken", "{name: one, port: 80}", []string{service("shop/one", "{ports: [{port: 80, appProtocol: kubernetes.io/wss}]}")}, "500", "False UnsupportedProtocol"},
		{"TLS by policy", "{name: one, port: 80}", []string{one, policy}, "shop/one:80*1", "True ResolvedRefs"},
		{"a host name outside", xRef, []string{x("")}, "xbackend/shop/x*1", "True ResolvedRefs"},
		{"a protocol that a route does not speak", xRef, []string{x(", protocol: MCP")}, "500", "False UnsupportedProtocol"},
		{"an authority that does not exist", xRef, []string{x(", tls: {mode: ServerOnly, validation: {hostname: x.example, caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}]}}")}, "500", "False NoValidCACertificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, f, _ := oneRoute(t, "backendRefs: ["+c.refs+"]", c.objects...)
			equal(t, action(r), c.action)
			resolved := f.Status.Parents[0].Conditions[1]
			equal(t, string(resolved.Status)+" "+resolved.Reason, c.want)
			equal(t, f.Status.Parents[0].Conditions[0].Reason, "Accepted")
			if !f.Serves || f.Failed {
				t.Errorf("serves %v, failed %v: %v", f.Serves, f.Failed, f.Steps)
			}
		})
	}
}

func TestClustersOfBackends(t *testing.T) {
	_, _, w := oneRoute(t, "backendRefs: [{name: one, port: 80}, {group: gateway.networking.x-k8s.io, kind: XBackend, name: x}]",
		"kind: Service\nmetadata: {name: one, namespace: shop}\nspec: {ports: [{port: 80, appProtocol: kubernetes.io/h2c}]}",
		"kind: XBackend\nmetadata: {name: x, namespace: shop}\nspec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: x.example}, tls: {mode: ServerOnly, validation: {hostname: sni.example, wellKnownCACertificates: System}}}")
	service, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|shop/one:80")
	external, _ := derive.Lookup(w.state, w.out.Model.Clusters, "shop/edge|xbackend/shop/x")
	equal(t, service, model.Cluster{ID: "shop/one:80", Gateway: "shop/edge", Protocol: model.UpstreamHTTP2, Origins: []model.Ref{{Collection: "Service", Name: "shop/one"}}})
	equal(t, external, model.Cluster{
		ID: "xbackend/shop/x", Gateway: "shop/edge", Protocol: model.UpstreamHTTP1, Host: "x.example", Port: 443,
		TLS: &model.UpstreamTLS{SNI: "sni.example"}, Origins: []model.Ref{{Collection: "XBackend", Name: "shop/x"}},
	})
	if _, ok := derive.Lookup(w.state, w.out.Model.Endpoints, "shop/one:80"); !ok {
		t.Error("a Service without slices has no endpoints value, not even an empty one")
	}
	if _, ok := derive.Lookup(w.state, w.out.Model.Endpoints, "xbackend/shop/x"); ok {
		t.Error("a host name outside has endpoints")
	}
}

func TestXBackendBehindItsSwitch(t *testing.T) {
	w := newWorld(t, Options{})
	w.apply("kind: XBackend\nmetadata: {name: x, namespace: shop}\nspec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: x.example}}")
	equal(t, reasons(w.finding("XBackend", "shop/x")), []string{"excluded FeatureDisabled"})
	equal(t, w.finding("XBackend", "shop/x").Steps[0].Message, "the switch features.xbackend is off: turn it on and restart")
}

func TestAddressInsteadOfAHostNameIsRefused(t *testing.T) {
	w := with(t, "kind: XBackend\nmetadata: {name: x, namespace: shop}\nspec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: 10.0.0.1}}")
	f := w.finding("XBackend", "shop/x")
	if !f.Failed || !hasStep(f, verdict.WasRejected, verdict.UnsupportedValue) {
		t.Errorf("failed %v, steps %v", f.Failed, f.Steps)
	}
}

// A new grant re-runs only the route whose answer flips.
func TestGrantRunsOnlyWhatFlips(t *testing.T) {
	route := func(name, to string) string {
		return "kind: HTTPRoute\nmetadata: {name: " + name + ", namespace: shop}\nspec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: " + to + ", namespace: other, port: 80}]}]}"
	}
	w := with(t, classYAML, edge, route("r1", "one"), route("r2", "two"))
	r := w.apply("kind: ReferenceGrant\nmetadata: {name: g, namespace: other}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: shop}], to: [{group: '', kind: Service, name: one}]}")
	if n := r.Work.Functions["rules"]; n != 1 {
		t.Errorf("one grant for one of two routes re-ran %d", n)
	}
	equal(t, w.finding("HTTPRoute", "shop/r1").Status.Parents[0].Conditions[1].Reason, "BackendNotFound")
	equal(t, w.finding("HTTPRoute", "shop/r2").Status.Parents[0].Conditions[1].Reason, "RefNotPermitted")
}

func TestShareThatAnswers500IsTold(t *testing.T) {
	_, f, _ := oneRoute(t, "backendRefs: [{name: one, port: 80, weight: 7}, {name: absent, port: 80, weight: 1}]", oneService)
	last := f.Steps[len(f.Steps)-1]
	equal(t, last, verdict.Step{
		Stage: verdict.Compile, Outcome: verdict.Warning, Reason: "BackendNotFound",
		Message: "Service shop/absent does not exist; 12.5% of requests answer 500", Field: "spec.rules[0].backendRefs[1]",
		Related: []verdict.Ref{{Collection: "Service", Name: "shop/absent"}},
	})
}
