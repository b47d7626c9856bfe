package scenarios

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// outputs are the sections of a scenario that -update writes.
var outputs = []string{"verdicts.txt", "model.yaml", "envoy.yaml", "status.yaml"}

func TestScenarios(t *testing.T) {
	golden.Each(t, "*.txtar", func(t *testing.T, f *golden.File) {
		o := run(t, f)
		f.Check("verdicts.txt", o.Verdicts())
		f.Check("model.yaml", must(t)(o.Model()))
		f.Check("envoy.yaml", must(t)(o.Envoy()))
		f.Check("status.yaml", must(t)(o.Status()))
		accepted(t, o.Resources())
	})
}

func run(t *testing.T, f *golden.File) *Outcome {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range f.Names("") {
		if !slices.Contains(outputs, name) {
			files[name] = f.Input(name)
		}
	}
	o, err := Run(t.TempDir(), files, Options{
		Experimental: strings.Contains(f.Comment(), "features.experimental: true"),
		XBackend:     !strings.Contains(f.Comment(), "features.xbackend: false"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func must(t *testing.T) func([]byte, error) []byte {
	t.Helper()
	return func(out []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// accepted asks a real Envoy, Gateway by Gateway, whether it would take the resources.
func accepted(t *testing.T, resources []xdsserve.Resource) {
	t.Helper()
	groups := map[string]bool{}
	for _, r := range resources {
		if r.Group != "" {
			groups[r.Group] = true
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if err := envoytest.Check(t, envoytest.Static(t, group, false, resources...)); err != nil {
			t.Errorf("Envoy refuses the configuration of %s: %v", group, err)
		}
	}
}

// The same files give the same bytes, whatever order maps were walked in.
func TestSameInputSameOutput(t *testing.T) {
	golden.Each(t, "*.txtar", func(t *testing.T, f *golden.File) {
		first, second := run(t, f), run(t, f)
		for name, out := range map[string]func(*Outcome) []byte{
			"verdicts.txt": (*Outcome).Verdicts,
			"model.yaml":   func(o *Outcome) []byte { return must(t)(o.Model()) },
			"envoy.yaml":   func(o *Outcome) []byte { return must(t)(o.Envoy()) },
			"status.yaml":  func(o *Outcome) []byte { return must(t)(o.Status()) },
		} {
			if string(out(first)) != string(out(second)) {
				t.Errorf("%s differs between two runs", name)
			}
		}
	})
}
