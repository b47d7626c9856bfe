package kubeapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
)

func TestConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := os.WriteFile(path, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"a",
		"clusters":[{"name":"a","cluster":{"server":"https://a.example"}},{"name":"b","cluster":{"server":"https://b.example"}}],
		"contexts":[{"name":"a","context":{"cluster":"a"}},{"name":"b","context":{"cluster":"b"}}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"": "https://a.example", "b": "https://b.example"} {
		c, err := kubeapi.Connection{Kubeconfig: "/nowhere" + string(filepath.ListSeparator) + path, Context: context}.Config()
		if err != nil || c.Host != want || !strings.HasPrefix(c.UserAgent, "gatehouse/") {
			t.Errorf("context %q: got %+v, %v; want %s", context, c, err, want)
		}
	}
	if _, err := (kubeapi.Connection{Kubeconfig: path, Context: "c"}).Config(); err == nil || !strings.Contains(err.Error(), `context "c" does not exist; correct KUBECONFIG or KUBE_CONTEXT`) {
		t.Errorf("a context that is not there: %v", err)
	}
	if _, err := (kubeapi.Connection{Kubeconfig: "/nowhere"}).Config(); err == nil || !strings.Contains(err.Error(), "name one with KUBECONFIG") {
		t.Errorf("a file that is not there: %v", err)
	}
}
