package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
)

// outputs are the sections of a scenario that -update writes, in order.
var outputs = []string{"verdicts.txt", "model.yaml", "envoy.yaml", "status.yaml"}

func output(t *testing.T, o *Outcome, name string) []byte {
	t.Helper()
	switch name {
	case "verdicts.txt":
		return o.Verdicts()
	case "model.yaml":
		return must(t)(o.Model())
	case "envoy.yaml":
		return must(t)(o.Envoy())
	default:
		return must(t)(o.Status())
	}
}

// The outputs are as reviewed, the same whatever order maps are walked in, and a
// real Envoy takes the configuration, and so does a proving one.
func TestScenarios(t *testing.T) {
	asked, proof := suspects{}, newProof(t)
	golden.Each(t, "*.txtar", func(t *testing.T, f *golden.File) {
		t.Helper()
		o := run(t, f)
		again := o.Again()
		for _, name := range outputs {
			got := output(t, o, name)
			f.Check(name, got)
			if diff := cmp.Diff(string(got), string(output(t, again, name))); diff != "" {
				t.Errorf("%s differs between two evaluations:\n%s", name, diff)
			}
		}
		asked.add(t, filepath.Base(f.Path()), o.Resources())
		proof.check(t, o.Resources())
	})
	asked.check(t)
}

func run(t *testing.T, f *golden.File) *Outcome {
	t.Helper()
	files, options := map[string][]byte{}, OptionsOf(f.Comment())
	for _, name := range f.Names("") {
		if !slices.Contains(outputs, name) {
			files[name] = f.Input(name)
		}
	}
	for _, name := range options.Secrets {
		files["secrets/"+name+".yaml"] = must(t)(os.ReadFile("secrets/" + name + ".yaml"))
	}
	o, err := Run(t.TempDir(), files, options)
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
