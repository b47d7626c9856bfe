package controller_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensions_v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// document is a Proxy with a spec.
func document(namespace, name, spec string) []byte {
	text := fmt.Sprintf("apiVersion: %s\nkind: Proxy\nmetadata: {namespace: %s, name: %s}\n", egress_v1alpha1.GroupVersion, namespace, name)
	if spec != "" {
		text += "spec: " + spec + "\n"
	}
	return []byte(text)
}

// read makes an object of a document.
func read(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	o := new(unstructured.Unstructured)
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// strict refuses unknown fields, as kubectl does.
func (l lab) strict() client.Client { return client.WithFieldValidation(l.Client, "Strict") }

// offline is the validator of files.
var offline = sync.OnceValue(func() *schema.Validator {
	return schema.New(schema.Options{Kinds: []snapshot.Kind{{
		Name: "Proxy", Group: egress_v1alpha1.Group, Versions: []string{egress_v1alpha1.Version}, Plural: "proxies",
		New: func() snapshot.Object { return new(egress_v1alpha1.Proxy) },
	}}})
})

// files validates as the shell over files does: by the same definition.
func files(previous snapshot.Object, text []byte) []schema.Problem {
	return offline().Decode(schema.Split(text)[0], func(store.Key) snapshot.Object { return previous })[0].Problems
}

// said tells whether one of the causes is about the field, in these words.
func said(causes []string, field, words string) bool {
	return slices.ContainsFunc(causes, func(c string) bool {
		at, text, _ := strings.Cut(c, ": ")
		return at == field && strings.Contains(text, words)
	})
}

// causes are what an API server says is wrong, each as "field: message".
func causes(err error) (out []string) {
	status, ok := errors.AsType[*api_errors.StatusError](err)
	if !ok {
		return []string{fmt.Sprint(err)}
	}
	if details := status.Status().Details; details != nil {
		for _, c := range details.Causes {
			out = append(out, c.Field+": "+c.Message)
		}
	}
	return append(out, unknown(err.Error())...)
}

// unknown makes a cause of a field that is not known.
func unknown(text string) (out []string) {
	if _, field, found := strings.Cut(text, `unknown field "`); found {
		field, _, _ = strings.Cut(field, `"`)
		out = append(out, field+": unknown field")
	}
	return out
}

func problems(all []schema.Problem) (out []string) {
	for _, p := range all {
		out = append(out, p.Field+": "+p.Message)
	}
	return out
}

// TestBadInputForEveryField: an API server says which field and why, and creates nothing;
// the shell over files refuses the same.
func TestBadInputForEveryField(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	for i, c := range bad {
		t.Run(c.field+" "+c.spec, func(t *testing.T) {
			name := fmt.Sprintf("bad-%d", i)
			text := document(l.ns, name, c.spec)
			err := l.strict().Create(t.Context(), read(t, text))
			if !api_errors.IsInvalid(err) && !api_errors.IsBadRequest(err) || !said(causes(err), c.field, c.words) {
				t.Errorf("the API server says %q, want %s: %s", causes(err), c.field, c.words)
			}
			if err := l.Get(t.Context(), l.key(name), new(egress_v1alpha1.Proxy)); !api_errors.IsNotFound(err) {
				t.Errorf("something was created: %v", err)
			}
			found := files(nil, text)
			if len(found) == 0 {
				t.Fatal("files take it")
			}
			if !slices.ContainsFunc(found, func(p schema.Problem) bool { return strings.HasPrefix(c.field, p.Field) }) {
				t.Errorf("files say %q, want %s", problems(found), c.field)
			}
		})
	}
}

// TestGoodInput: both take it.
func TestGoodInput(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	for i, what := range slices.Sorted(maps.Keys(good)) {
		text := document(l.ns, fmt.Sprintf("good-%d", i), good[what])
		if err := l.strict().Create(t.Context(), read(t, text)); err != nil {
			t.Errorf("%s: the API server says %v", what, err)
		}
		if found := files(nil, text); len(found) > 0 {
			t.Errorf("%s: files say %q", what, problems(found))
		}
	}
}

// TestChangesThatCannotBe: both keep what there is.
func TestChangesThatCannotBe(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	for i, c := range changes {
		name := fmt.Sprintf("px-%d", i)
		if err := l.strict().Create(t.Context(), read(t, document(l.ns, name, c.before))); err != nil {
			t.Fatal(err)
		}
		p := new(egress_v1alpha1.Proxy)
		if err := l.Get(t.Context(), l.key(name), p); err != nil {
			t.Fatal(err)
		}
		text := document(l.ns, name, c.after)
		after := read(t, text)
		after.SetResourceVersion(p.ResourceVersion)
		if err := l.strict().Update(t.Context(), after); !api_errors.IsInvalid(err) || !said(causes(err), "spec", c.words) {
			t.Errorf("%s to %s: the API server says %q, want %s", c.before, c.after, causes(err), c.words)
		}
		if found := problems(files(p, text)); !said(found, "spec", c.words) {
			t.Errorf("%s to %s: files say %q, want %s", c.before, c.after, found, c.words)
		}
	}
}

// TestEveryFieldHasBadInput: a field that is added needs a line in the table.
func TestEveryFieldHasBadInput(t *testing.T) {
	var d apiextensions_v1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition(t), &d); err != nil {
		t.Fatal(err)
	}
	tried := make(map[string]bool)
	for _, c := range bad {
		tried[c.field] = true
	}
	root := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	leaves(root, "spec", func(field string) {
		if !tried[field] {
			t.Errorf("no bad input for %s", field)
		}
	})
}

func leaves(s apiextensions_v1.JSONSchemaProps, at string, visit func(string)) {
	if len(s.Properties) == 0 {
		visit(at)
	}
	for name, p := range s.Properties {
		leaves(p, at+"."+name, visit)
	}
}

// TestSamples: both take what users begin with.
func TestSamples(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	text, err := os.ReadFile("../../../config/samples/proxies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for _, d := range schema.Split(text) {
		o := read(t, d.Text)
		if err := l.strict().Create(t.Context(), l.in(o)); err != nil {
			t.Errorf("%s: the API server says %v", o.GetName(), err)
		}
		if o.GetKind() == "Proxy" {
			taken++
			if found := offline().Decode(d, nil)[0].Problems; len(found) > 0 {
				t.Errorf("%s: files say %q", o.GetName(), problems(found))
			}
		}
	}
	if taken != 4 {
		t.Errorf("there are %d Proxies", taken)
	}
}
