package scenarios

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/golden"
)

// TestGatewayAPIExamples: configurations that no one here wrote. Every object of
// the Gateway API module's own examples has one verdict with a reason: all of them
// as they are, for other controllers, and then each example by itself with its
// classes made ours, which a real Envoy has to accept.
func TestGatewayAPIExamples(t *testing.T) {
	files, asked := exampleFiles(t), suspects{}
	want := golden.Load(t, "testdata/examples.txtar")
	want.Check("as-they-are.txt", summary(example(t, files)))
	got := map[string][]byte{}
	for name, group := range groups(files) {
		o := example(t, ours(group))
		got[name] = summary(o)
		asked.add(t, name, o.Resources())
	}
	want.CheckAll("ours/", got)
	asked.check(t)
}

func example(t *testing.T, files map[string][]byte) *Outcome {
	t.Helper()
	o, err := Run(t.TempDir(), files, Options{Experimental: true, XBackend: true})
	if err != nil {
		t.Fatal(err)
	}
	explained(t, o)
	return o
}

// groups are the examples that belong together: a file of its own, or a directory.
func groups(files map[string][]byte) map[string]map[string][]byte {
	out := map[string]map[string][]byte{}
	for path, text := range files {
		name := strings.TrimSuffix(path, ".yaml")
		if strings.Count(path, "/") > 1 {
			name = filepath.Dir(path)
		}
		if out[name] == nil {
			out[name] = map[string][]byte{}
		}
		out[name][path] = text
	}
	return out
}

func exampleFiles(t *testing.T) map[string][]byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatalf("find the Gateway API module: %v", err)
	}
	examples := os.DirFS(filepath.Join(strings.TrimSpace(string(out)), "examples"))
	files := map[string][]byte{}
	err = fs.WalkDir(examples, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		files[path], err = fs.ReadFile(examples, path)
		return err
	})
	if err != nil || len(files) < 60 {
		t.Fatalf("found %d examples, want at least 60 (error: %v)", len(files), err)
	}
	return files
}

var (
	controllerLine = regexp.MustCompile(`(?m)^(\s*controllerName:).*$`)
	classLine      = regexp.MustCompile(`(?m)^\s*gatewayClassName: *([a-z0-9-]+)`)
	parameters     = regexp.MustCompile(`(?m)^  parametersRef:\n(    .*\n?)+`)
	classDocument  = regexp.MustCompile(`(?m)^kind: GatewayClass\nmetadata:\n  name: *([a-z0-9-]+)`)
)

// ours are examples with every class that a Gateway names as a class of this
// controller, without the parameters of the controllers that they are for.
func ours(examples map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	named, defined := map[string]bool{}, map[string]bool{}
	for path, text := range examples {
		out[path] = parameters.ReplaceAll(controllerLine.ReplaceAll(text, []byte("$1 "+Controller)), nil)
		for _, match := range classLine.FindAllSubmatch(text, -1) {
			named[string(match[1])] = true
		}
		for _, match := range classDocument.FindAllSubmatch(text, -1) {
			defined[string(match[1])] = true
		}
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if !defined[name] {
			fmt.Fprintf(&b, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: %s}\nspec: {controllerName: %s}\n", name, Controller)
		}
	}
	out["classes.yaml"] = b.Bytes()
	return out
}

// explained checks that every observed object has one verdict, and that it says why.
func explained(t *testing.T, o *Outcome) {
	t.Helper()
	seen := map[string]int{}
	for _, v := range o.reporter.Verdicts("") {
		name := v.Object.Kind + " " + snapshot.NamespacedName(v.Object.Namespace, v.Object.Name)
		seen[name]++
		unexplained := slices.ContainsFunc(v.Steps, func(s verdict.Step) bool { return s.Reason == verdict.Unexplained.Name })
		if seen[name] > 1 || len(v.Steps) == 0 || unexplained {
			t.Errorf("%s has %d verdicts, this one with steps %v", name, seen[name], v.Steps)
		}
	}
	for _, edit := range o.batch.Edits {
		if name := edit.Key.Collection + " " + edit.Key.Name; seen[name] == 0 {
			t.Errorf("%s has no verdict", name)
		}
	}
}

// summary is a line each object: its state, and the reasons that made it so.
func summary(o *Outcome) []byte {
	var b bytes.Buffer
	for _, v := range o.reporter.Verdicts("") {
		var reasons []string
		for _, s := range v.Steps {
			if !slices.Contains(silent, s.Reason) && !slices.Contains(reasons, s.Reason) && s.Reason != verdict.Translated.Name {
				reasons = append(reasons, s.Reason)
			}
		}
		name := snapshot.NamespacedName(v.Object.Namespace, v.Object.Name)
		fmt.Fprintf(&b, "%s %s: %s %s\n", v.Object.Kind, name, v.State, strings.Join(reasons, " "))
	}
	return b.Bytes()
}
