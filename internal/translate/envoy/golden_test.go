package envoy

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// TestGoldens compares what a model becomes with testdata, and has a real Envoy
// take it. A certificate without a chain gets a generated pair for its name.
func TestGoldens(t *testing.T) {
	golden.Each(t, "testdata/*.txtar", func(t *testing.T, f *golden.File) {
		var w world
		if err := yaml.UnmarshalStrict(f.Input("model.yaml"), &w); err != nil {
			t.Fatalf("%s: model.yaml: %v", f.Path(), err)
		}
		for i := range w.Certificates {
			if len(w.Certificates[i].Chain) == 0 {
				w.Certificates[i].Chain, w.Certificates[i].Key = goodPair().Cert, goodPair().Key
			}
		}
		got := translate(t, w)
		f.Check("envoy.yaml", resourcesText(t, got.resources))
		f.Check("failures.txt", failuresText(got.failures))
		static := envoytest.Static(t, string(edge), true, complete(t, withListeners(t, got.resources))...)
		if err := envoytest.Check(t, static); err != nil {
			t.Error(err)
		}
	})
}

// withListeners gives each table that no listener uses one of its own, so that
// Envoy sees it.
func withListeners(t *testing.T, resources []xdsserve.Resource) []xdsserve.Resource {
	t.Helper()
	used := map[xdsserve.Name]bool{}
	for _, r := range resources {
		for _, use := range r.Uses {
			used[use] = true
		}
	}
	for _, r := range resources {
		if r.Type == xdsserve.Routes && !used[r.Name] {
			l := model.Listener{Gateway: edge, Port: 80, Protocol: model.HTTP, Table: model.TableID(r.Name.Name)}
			resources = append(resources, *translateListener("of "+r.Name.Name, l, model.Gateway{}, whole, Options{}).Resource)
		}
	}
	return resources
}

// whole is that a table is looked up as a whole.
func whole(id model.TableID) model.RouteTable { return model.RouteTable{ID: id, Gateway: edge} }

func resourcesText(t *testing.T, resources []xdsserve.Resource) []byte {
	t.Helper()
	var out bytes.Buffer
	for i, r := range resources {
		if i > 0 {
			fmt.Fprintln(&out, "---")
		}
		body, err := YAML(r, false)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "# %s %s\n", shortType(r.Type), r.Name.Name)
		fmt.Fprintf(&out, "# group %q, from %s\n", r.Group, strings.Join(r.Origins, ", "))
		for _, use := range r.Uses {
			fmt.Fprintf(&out, "# uses %s %s\n", shortType(use.Type), use.Name)
		}
		if r.SlowToWarm {
			fmt.Fprintln(&out, "# slow to warm")
		}
		out.Write(body)
	}
	chain := base64.StdEncoding.EncodeToString(goodPair().Cert)
	return bytes.ReplaceAll(out.Bytes(), []byte(chain), []byte("(the certificate)"))
}

func shortType(t xdsserve.Type) string { return string(t)[strings.LastIndex(string(t), ".")+1:] }

func failuresText(failures []Failure) []byte {
	var out bytes.Buffer
	for _, f := range failures {
		refs := slices.Collect(func(yield func(string) bool) {
			for _, r := range f.Origins {
				if !yield(Origin(r)) {
					return
				}
			}
		})
		fmt.Fprintf(&out, "%s %s (%s): %s %s\n", shortType(f.Type), f.Name, strings.Join(refs, ", "), f.Field, f.Message)
	}
	return out.Bytes()
}
