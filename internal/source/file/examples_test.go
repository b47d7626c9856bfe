package file

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/source/schema"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// The Gateway API's own examples are read as one directory: each object is in
// force or has a finding, and the same object in several files has the rule for it.
func TestExamplesOfTheGatewayAPI(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	must(t, err)
	dir := filepath.Join(strings.TrimSpace(string(out)), "examples")
	b := ReadOnce(Options{Paths: []string{dir}})
	told := map[store.Key]bool{}
	for _, e := range b.Edits {
		told[e.Key] = true
	}
	reasons := map[string]int{}
	for _, findings := range b.Findings {
		for _, f := range findings {
			told[f.Object] = true
			reasons[f.Step.Reason]++
		}
	}
	documents, validator := 0, schema.New(schema.Options{})
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, doc := range schema.Split(content) {
			for _, o := range validator.Decode(doc, nil) {
				documents++
				if !told[o.Key] {
					t.Errorf("%s:%d %s: neither in force nor refused", path, o.Line, o.Key)
				}
			}
		}
		return err
	})
	must(t, err)
	t.Logf("%d files, %d objects in documents, %d in force, findings by reason %v", b.Files, documents, len(b.Edits), reasons)
	if documents < 100 || documents != len(b.Edits)+reasons["DuplicateObject"]+reasons["FeatureDisabled"] {
		t.Error("the numbers do not add up")
	}
}
