package compile

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Every kind has a decision, also behind a switch and without any other object.
func TestEveryKindHasAVerdict(t *testing.T) {
	want := map[string]string{
		"XMesh": verdict.OutOfScope.Name, "ConfigMap": verdict.NotReferenced.Name, "ClusterTrustBundle": verdict.NotReferenced.Name,
		"UDPRoute":    verdict.ParentNotFound.Name,
		"ListenerSet": verdict.ParentNotFound.Name, "ServiceImport": verdict.NotReferenced.Name, "XTelemetryPolicy": verdict.UnsupportedValue.Name,
		"XBackendTrafficPolicy": verdict.NotReferenced.Name, "BackendTLSPolicy": verdict.UnsupportedValue.Name, "XBackend": verdict.UnsupportedValue.Name,
	}
	for _, kind := range snapshot.Kinds {
		for _, open := range []bool{true, false} {
			w := newWorld(t, Options{Experimental: open, XBackend: open})
			object := kind.New()
			object.SetName("x")
			if !kind.ClusterScoped {
				object.SetNamespace("shop")
			}
			key := snapshot.Ref(kind.Name, object.GetNamespace(), "x")
			w.edit(store.Edit{Key: key, Value: object})
			f := w.finding(key.Collection, key.Name)
			reason := want[kind.Name]
			if kind.Feature != "" && !open {
				reason = verdict.FeatureDisabled.Name
			}
			if f.Serves || len(f.Steps) == 0 || reason != "" && f.Steps[0].Reason != reason {
				t.Errorf("%s, switches on %v: serves %v, steps %v, want %s", kind.Name, open, f.Serves, f.Steps, reason)
			}
		}
	}
}

// Configuration that no one here wrote: each object of Gateway API's own examples
// has a verdict, and none makes a function panic.
func TestExamplesOfGatewayAPI(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "examples")
	files := 0
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		w := newWorld(t, Options{Experimental: true, XBackend: true})
		w.edit(lenient(t, text)...)
		for object, f := range w.out.Findings.All(w.state) {
			if len(f.Steps) == 0 {
				t.Errorf("%s: %s has no steps", path, object)
			}
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Errorf("%d files under %s: %v", files, root, err)
	}
}

// lenient decodes the documents of known kinds, without the checks of a source.
func lenient(t *testing.T, text []byte) []store.Edit {
	t.Helper()
	var edits []store.Edit
	for doc := range bytes.SplitSeq(text, []byte("\n---")) {
		var head struct {
			Kind string `json:"kind"`
		}
		if yaml.Unmarshal(doc, &head) != nil {
			continue
		}
		kind, known := snapshot.KindOf(head.Kind)
		if !known {
			continue
		}
		object := kind.New()
		if yaml.Unmarshal(doc, object) == nil {
			edits = append(edits, store.Edit{Key: snapshot.Ref(kind.Name, object.GetNamespace(), object.GetName()), Value: object})
		}
	}
	return edits
}

func TestFindingsChangeWithWhatTheyAreAbout(t *testing.T) {
	w := with(t, classYAML, edge)
	r := w.apply(checkout)
	var got []string
	for c := range w.out.Findings.Changes(r.Delta) {
		got = append(got, c.Key)
	}
	equal(t, got, []string{"Gateway shop/edge", "HTTPRoute shop/checkout"})
	if _, ok := w.out.Findings.Lookup(w.state, store.Key{Collection: "Pod", Name: "x"}); ok {
		t.Error("an unknown kind has a finding")
	}
	for range w.out.Findings.All(derive.State{}) {
		t.Error("the empty view has a finding")
	}
}
