package cluster_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

func TestWhatIsMissingIsNamed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(cluster.AssetsVariable, dir)
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := cluster.Programs()
	if err == nil || !strings.Contains(err.Error(), "kube-controller-manager") || !strings.Contains(err.Error(), cluster.AssetsVariable) {
		t.Errorf("%v", err)
	}
	t.Setenv(cluster.AssetsVariable, "")
	t.Setenv("XDG_CACHE_HOME", dir)
	if _, err = cluster.Programs(); err == nil || !strings.Contains(err.Error(), "make cluster") {
		t.Errorf("%v", err)
	}
}

// TestOneVersion: the module, the script that builds it, and the tests speak of the same.
func TestOneVersion(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	module, script := read("tools/cluster/go.mod"), read("hack/build-cluster.sh")
	name := script
	for variable, require := range map[string]string{
		"kubernetes": `k8s\.io/kubernetes v(\S+)`, "etcd": `go\.etcd\.io/etcd/server/v3 v(\S+)`, "toolchain": `()`,
	} {
		is := regexp.MustCompile(variable + `=(\S+)`).FindStringSubmatch(script)
		wants := regexp.MustCompile(require).FindStringSubmatch(module)
		if is == nil || wants == nil || wants[1] != "" && is[1] != wants[1] {
			t.Fatalf("%s: the script builds %v, the module requires %v", variable, is, wants)
		}
		name = strings.ReplaceAll(name, "${"+variable+"}", is[1])
	}
	if want := "/gatehouse/cluster/" + cluster.Build; !strings.Contains(name, want+`"`) {
		t.Errorf("the script does not build into %s", want)
	}
}
