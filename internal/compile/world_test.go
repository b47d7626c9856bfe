package compile

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// world is a graph and its evaluation over the objects applied so far.
type world struct {
	t     testing.TB
	graph *derive.Graph
	out   Outputs
	view  store.View
	state derive.State
}

func newWorld(t testing.TB, o Options) *world {
	t.Helper()
	if o.ControllerName == "" {
		o.ControllerName = "gatehouse.dev/gateway-controller"
	}
	g := derive.New()
	return &world{t: t, graph: g, out: Build(g, o)}
}

// with returns a world that holds the objects of YAML documents.
func with(t testing.TB, documents ...string) *world {
	t.Helper()
	w := newWorld(t, Options{XBackend: true})
	w.apply(documents...)
	return w
}

// apply adds or replaces objects and evaluates.
func (w *world) apply(documents ...string) derive.Result {
	w.t.Helper()
	var edits []store.Edit
	for _, text := range documents {
		edits = append(edits, decode(w.t, text)...)
	}
	return w.edit(edits...)
}

func (w *world) edit(edits ...store.Edit) derive.Result {
	w.t.Helper()
	w.view = w.view.Apply(edits...)
	r := w.graph.Eval(w.state, w.view)
	w.state = r.State
	for _, f := range r.Faults {
		w.t.Fatalf("%s of %s panicked: %v\n%s", f.Node, f.Key, f.Panic, f.Stack)
	}
	return r
}

func (w *world) remove(kind, name string) derive.Result {
	w.t.Helper()
	return w.edit(store.Edit{Collection: kind, Name: name})
}

// finding is what is said of an object, which must exist.
func (w *world) finding(kind, name string) Finding {
	w.t.Helper()
	f, ok := w.out.Findings.Lookup(w.state, store.Key{Collection: kind, Name: name})
	if !ok {
		w.t.Fatalf("no finding of %s %s", kind, name)
	}
	return f
}

// reasons are the outcomes and reasons of a finding, "excluded NotReferenced".
func reasons(f Finding) []string {
	var out []string
	for _, s := range f.Steps {
		out = append(out, string(s.Outcome)+" "+s.Reason)
	}
	return out
}

func hasStep(f Finding, outcome verdict.Outcome, reason verdict.Reason) bool {
	return slices.ContainsFunc(f.Steps, func(s verdict.Step) bool { return s.Outcome == outcome && s.Reason == reason.Name })
}

func decode(t testing.TB, text string) []store.Edit {
	t.Helper()
	var edits []store.Edit
	for doc := range bytes.SplitSeq([]byte(text), []byte("\n---")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		var head struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(doc, &head); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		kind, ok := snapshot.KindOf(head.Kind)
		if !ok {
			t.Fatalf("unknown kind %q in:\n%s", head.Kind, doc)
		}
		object := kind.New()
		if err := yaml.UnmarshalStrict(doc, object); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		edits = append(edits, store.Edit{Key: snapshot.Ref(kind.Name, object.GetNamespace(), object.GetName()), Value: object})
	}
	return edits
}

// conditionText is a condition in one line, "Accepted=True Accepted".
func conditionText(list []condition) string {
	var out []string
	for _, c := range list {
		out = append(out, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return strings.Join(out, ", ")
}

const classYAML = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gatehouse}
spec: {controllerName: gatehouse.dev/gateway-controller}
`

const edge = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop, generation: 3}
spec:
  gatewayClassName: gatehouse
  listeners:
  - {name: http, port: 8080, protocol: HTTP}
`

const checkout = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: checkout, namespace: shop, generation: 7}
spec:
  parentRefs: [{name: edge}]
  hostnames: [shop.example]
  rules:
  - matches: [{path: {type: PathPrefix, value: /pay}}]
    backendRefs: [{name: pay, port: 80}]
`

const pay = `
apiVersion: v1
kind: Service
metadata: {name: pay, namespace: shop}
spec:
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pay-1, namespace: shop, labels: {kubernetes.io/service-name: pay}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
- {addresses: [10.0.0.2], conditions: {ready: true}}
- {addresses: [10.0.0.1]}
- {addresses: [10.0.0.3], conditions: {ready: false, serving: true, terminating: true}}
- {addresses: [10.0.0.4], conditions: {ready: false}}
`

// hostsOf are the virtual hosts of a table in order of domain.
func (w *world) hostsOf(table string) []model.VirtualHost {
	var hosts []model.VirtualHost
	for _, h := range derive.ItemsWithPrefix(w.state, w.out.Model.Hosts, table+"|") {
		hosts = append(hosts, h)
	}
	return hosts
}
