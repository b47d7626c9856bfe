package schema

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// exampleFiles yields the YAML files of the Gateway API module's examples, which
// no one here wrote.
func exampleFiles(tb testing.TB) map[string][]byte {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		tb.Fatal(err)
	}
	dir := os.DirFS(filepath.Join(strings.TrimSpace(string(out)), "examples"))
	files := map[string][]byte{}
	err = fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		files[path], err = fs.ReadFile(dir, path)
		return err
	})
	if err != nil || len(files) < 60 {
		tb.Fatalf("%d examples: %v", len(files), err)
	}
	return files
}

// With the experimental channel every example is accepted; without it those that
// need it are refused for that reason alone.
func TestExamplesOfTheGatewayAPI(t *testing.T) {
	for _, experimental := range []bool{true, false} {
		v := New(Options{Open: func(f snapshot.Feature) bool { return experimental || f == snapshot.FeatureXBackend }})
		objects, refused := 0, map[string]bool{}
		for path, content := range exampleFiles(t) {
			for _, o := range decodeAll(v, content, nil) {
				objects++
				for _, p := range o.Problems {
					refused[path] = true
					if experimental || p.Reason.Name != verdict.FeatureDisabled.Name {
						t.Errorf("%s:%d %s %s %s: %s", path, p.Line, o.Key, p.Reason.Name, p.Field, p.Message)
					}
				}
			}
		}
		t.Logf("experimental %t: %d objects, refused: %v", experimental, objects, refused)
		if objects < 100 || !experimental && len(refused) == 0 {
			t.Errorf("%d objects, %d refused", objects, len(refused))
		}
	}
}
