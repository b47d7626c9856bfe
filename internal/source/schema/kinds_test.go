package schema

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

func allOpen(snapshot.Feature) bool { return true }

// Every kind in every version has either a definition or rules of our own.
func TestEveryKindCanBeValidated(t *testing.T) {
	v := New(Options{Open: allOpen})
	for _, kind := range snapshot.Kinds {
		_, core := coreKinds[kind.Name]
		for _, version := range kind.Versions {
			def, err := v.defs.get(kind, version, crd.Experimental)
			if core == (def != nil) || err != nil {
				t.Errorf("%s %s: core %t, definition %v, error %v", kind.Name, version, core, def != nil, err)
			}
		}
	}
	for name := range coreKinds {
		if _, ok := snapshot.KindOf(name); !ok {
			t.Errorf("rules for %s, which is no kind", name)
		}
	}
}

// A field that a definition has and the Go type lacks would be lost in silence.
func TestGoTypesHaveEveryFieldOfTheirDefinition(t *testing.T) {
	v := New(Options{Open: allOpen})
	for _, kind := range snapshot.Kinds {
		def, err := v.defs.get(kind, kind.Versions[0], crd.Experimental)
		if err != nil || def == nil {
			continue
		}
		for _, path := range missingFields(def, reflect.TypeOf(kind.New()).Elem()) {
			t.Errorf("%s has no Go field for %s", kind.Name, path)
		}
	}
}

func missingFields(def *definition, typ reflect.Type) (out []string) {
	var walk func(s *structuralAlias, t reflect.Type, path string)
	walk = func(s *structuralAlias, t reflect.Type, path string) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if s.Items != nil && t.Kind() == reflect.Slice {
			walk(s.Items, t.Elem(), path+"[]")
		}
		if t.Kind() != reflect.Struct {
			return
		}
		fields := map[string]reflect.Type{}
		for f := range jsonFields(t) {
			fields[f.name] = f.typ
		}
		for name, p := range s.Properties {
			if ft, ok := fields[name]; !ok {
				out = append(out, join(path, name))
			} else if name != "metadata" {
				walk(&p, ft, join(path, name))
			}
		}
	}
	walk(def.structural, typ, "")
	return out
}

func TestWhatOnlyAServerSetsIsDropped(t *testing.T) {
	const text = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: edge
  uid: 11111111-2222-3333-4444-555555555555
  resourceVersion: "12"
  generation: 7
  creationTimestamp: "2026-01-02T03:04:05Z"
  managedFields: [{manager: kubectl}]
  labels: {a: b}
spec:
  gatewayClassName: c
  listeners: [{name: http, port: 80, protocol: HTTP}]
status:
  addresses: [{value: 10.0.0.1}]
  nonsense: true
`
	got := one(t, New(Options{}), text)
	if got.Value.GetGeneration() != 0 || got.Value.GetResourceVersion() != "" || got.Value.GetManagedFields() != nil || len(got.Value.GetUID()) != 36 || strings.HasPrefix(string(got.Value.GetUID()), "1111") {
		t.Errorf("metadata: %+v", got.Value)
	}
	if got.Value.GetCreationTimestamp().UTC().Format("2006-01-02") != "2026-01-02" || got.Value.GetNamespace() != DefaultNamespace {
		t.Errorf("metadata: %+v", got.Value)
	}
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got.Value)
	if status, _ := plain["status"].(map[string]any); err != nil || len(status) != 0 {
		t.Errorf("status: %v, %v", status, err)
	}
	again := one(t, New(Options{}), strings.Replace(text, "generation: 7", "generation: 8", 1))
	if again.Value.GetUID() != got.Value.GetUID() || again.Content != got.Content {
		t.Error("what a server sets changes the object")
	}
	labelled := one(t, New(Options{}), strings.Replace(text, "a: b", "a: c", 1))
	if labelled.Content == got.Content || labelled.Spec != got.Spec {
		t.Error("a label must change the content, and not the spec")
	}
}

func TestDefaultsAndVersions(t *testing.T) {
	v := New(Options{Open: allOpen})
	for _, c := range []struct{ text, want string }{
		{"apiVersion: gateway.networking.k8s.io/v1beta1\nkind: HTTPRoute\nmetadata: {name: r}\nspec: {rules: [{backendRefs: [{name: a, port: 80}]}]}", `"apiVersion":"gateway.networking.k8s.io/v1"`},
		{"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\nspec: {rules: [{backendRefs: [{name: a, port: 80}]}]}", `"matches":[{"path":{"type":"PathPrefix","value":"/"}}]`},
		{"apiVersion: gateway.networking.k8s.io/v1alpha2\nkind: TLSRoute\nmetadata: {name: r}\nspec: {hostnames: [a.example], rules: [{backendRefs: [{name: a, port: 80}]}]}", `"apiVersion":"gateway.networking.k8s.io/v1"`},
		{"apiVersion: certificates.k8s.io/v1alpha1\nkind: ClusterTrustBundle\nmetadata: {name: b}\nspec: {trustBundle: x}", "no PEM block"},
		{"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}", `"protocol":"TCP","port":80,"targetPort":80`},
		{"apiVersion: v1\nkind: Namespace\nmetadata: {name: s}", `"kubernetes.io/metadata.name":"s"`},
		{"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aGk=}\nstringData: {b: hi, a: wins}", `"data":{"a":"d2lucw==","b":"aGk="},"type":"Opaque"`},
		{"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: s}\naddressType: IPv6\nports: [{port: 1}]\nendpoints: [{addresses: ['::1'], conditions: null}]", `"ports":[{"name":"","protocol":"TCP","port":1}]`},
	} {
		got := decodeAll(v, []byte(c.text), nil)[0]
		if text := jsonOf(t, got); !strings.Contains(text, c.want) {
			t.Errorf("%s\nis %s\nwant %s", c.text, text, c.want)
		}
	}
}

func TestMessagesOfSecretsShowNoValues(t *testing.T) {
	v := New(Options{})
	for _, data := range []string{"hunter2", "[hunter2]", "{a: hunter2}", "!!int hunter2", "!!binary hunter2", "\"hunter2", "{a: [hunter2}", "&hunter2 [*hunter2]"} {
		for _, field := range []string{"data", "stringData", "type", "immutable", "unknown"} {
			for _, o := range decodeAll(v, []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"+field+": "+data+"\n"), nil) {
				for _, p := range o.Problems {
					if strings.Contains(p.Message, "hunter2") && !strings.Contains(data, "&") {
						t.Errorf("%s: %s shows it: %s", field, data, p.Message)
					}
				}
			}
		}
	}
}
