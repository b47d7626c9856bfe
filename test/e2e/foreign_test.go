package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// TestForeignExamples: configurations that nobody here wrote, the Gateway API
// module's own examples. All load, and every object of them has a verdict with a
// reason that is no bug.
func TestForeignExamples(t *testing.T) {
	dir := examples(t)
	s := prepare(t)
	s.dir = dir
	s.run(t)
	s.must(t, s.WaitReady)
	objects := objectsIn(t, dir)
	if len(objects) < 80 {
		t.Fatalf("%d objects in %s, want the module's examples", len(objects), dir)
	}
	for _, o := range objects {
		v, err := s.API().Verdict(t.Context(), o.kind, o.name)
		if err != nil {
			t.Errorf("%s %s of %s: %v", o.kind, o.name, o.file, err)
			continue
		}
		if len(v.Steps) == 0 || strings.Contains(rig.Steps(v), verdict.Unexplained.Name) {
			t.Errorf("%s %s of %s is %s without a reason:%s", o.kind, o.name, o.file, v.State, rig.Steps(v))
		}
	}
}

// TestForeignExamplesServed: with classes of ours they are compiled and translated too.
func TestForeignExamplesServed(t *testing.T) {
	dir := examples(t)
	classes := filepath.Join(t.TempDir(), "classes.yaml")
	var text strings.Builder
	for _, name := range []string{"example", "example-gateway-class", "foo-lb", "shared-gateway-class"} {
		fmt.Fprintf(&text, "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: %s}\nspec: {controllerName: gatehouse.dev/gateway-controller}\n---\n", name)
	}
	if err := os.WriteFile(classes, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := must(rig.Command(ctx, os.Getenv(binaryVariable), "translate", "-f", dir, "-f", classes, "--to", "xds", "-o", "json"))(t)
	if r.Exit > 1 || !json.Valid([]byte(r.Stdout)) || !strings.Contains(r.Stdout, `"type": "Listener"`) {
		t.Errorf("translate exits %d without listeners:\n%.2000s\n%s", r.Exit, r.Stdout, r.Stderr)
	}
}

func examples(t *testing.T) string {
	t.Helper()
	out := must(exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output())(t)
	return filepath.Join(strings.TrimSpace(string(out)), "examples")
}

type named struct{ kind, name, file string }

// objectsIn returns every object of a kind that is served in the files of a directory.
func objectsIn(t *testing.T, dir string) []named {
	t.Helper()
	var all []named
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		found, err := documents(path)
		all = append(all, found...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func documents(path string) ([]named, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var all []named
	for decoder := yaml.NewDecoder(f); ; {
		var head struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		err := decoder.Decode(&head)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		kind, known := admin.ResolveKind(head.Kind)
		if head.Kind == "" || !known {
			continue
		}
		all = append(all, named{kind: kind.Name, name: fullName(head.Metadata.Namespace, head.Metadata.Name, kind.ClusterScoped), file: path})
	}
}

func fullName(namespace, name string, clusterScoped bool) string {
	switch {
	case clusterScoped:
		return name
	case namespace == "":
		return "default/" + name
	}
	return namespace + "/" + name
}
