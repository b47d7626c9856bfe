package crawlers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// TestTypes: the client, its examples and its tests say of everything what it is.
func TestTypes(t *testing.T) {
	if !chosen("mypy", true) {
		return
	}
	cmd := python(t.Context(), []string{packages(t.Context(), t)}, "-m", "mypy", "--strict", "--cache-dir", t.TempDir(),
		"gatehouse_egress", "examples", "tests", "../../examples/crawler", "../../test/fleet/clients/crawlers")
	cmd.Dir = library
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// TestWheel: pip builds a wheel and installs it, without a network, and what is installed
// is the client, of this version.
func TestWheel(t *testing.T) {
	if !chosen("wheel", true) {
		return
	}
	dir := t.TempDir()
	source, environment := filepath.Join(dir, "source"), filepath.Join(dir, "environment")
	if err := os.CopyFS(source, os.DirFS(library)); err != nil { // a build may write into it
		t.Fatal(err)
	}
	must := func(cmd *exec.Cmd) string {
		t.Helper()
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	must(python(t.Context(), []string{packages(t.Context(), t)}, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", dir, source))
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 || !strings.Contains(wheels[0], "gatehouse_egress-"+version.Number+"-py3-none-any") {
		t.Fatalf("built %q, %v", wheels, err)
	}
	must(python(t.Context(), nil, "-m", "venv", "--without-pip", environment))
	own := filepath.Join(environment, "bin", "python")
	must(python(t.Context(), nil, "-m", "pip", "--python", own, "install", "--no-index", wheels[0]))
	cmd := exec.CommandContext(t.Context(), own, "-c",
		"import gatehouse_egress, importlib.metadata as m; print(gatehouse_egress.__file__, m.version('gatehouse-egress'), m.requires('gatehouse-egress'))")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	if said := must(cmd); !strings.HasPrefix(said, environment) || !strings.HasSuffix(said, " "+version.Number+" None") {
		t.Errorf("installed is %s", said)
	}
}
