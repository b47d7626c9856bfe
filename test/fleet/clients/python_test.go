package clients

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// library is where the client of Python is.
const library = "../../../clients/python"

// python returns a command of the Python that tests run, with the client in its path. What
// the environment says of proxies must not matter.
func python(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs(library)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("PYTHON"), "python3"), arguments...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "PYTHONDONTWRITEBYTECODE=1", "http_proxy=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1")
	return cmd
}

var passed = regexp.MustCompile(`(?m)^Ran (\d+) tests in .*\n\nOK$`)

func TestPython(t *testing.T) {
	a := serve(t)
	cmd := python(t, "-W", "error", "-m", "unittest", "-v", "test_client")
	cmd.Dir = filepath.Join(library, "tests")
	cmd.Env = append(cmd.Env, "LEASE_API="+a.URL, "DISCOVERY_TOKEN="+token, "GATEHOUSE_VERSION="+version.Number)
	out, err := cmd.CombinedOutput()
	ran := passed.FindStringSubmatch(string(out))
	text, readErr := os.ReadFile(filepath.Join(library, "tests", "test_client.py"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	all := strings.Count(string(text), "    def test_")
	if err != nil || ran == nil || ran[1] != strconv.Itoa(all) {
		t.Errorf("%v, of %d tests:\n%s", err, all, out)
	}
}

// TestVersions: clients have the version of the API that they speak.
func TestVersions(t *testing.T) {
	if egress.Version != version.Number {
		t.Errorf("clients/go is %s, and Gatehouse %s", egress.Version, version.Number)
	}
}
