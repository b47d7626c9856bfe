package cloudinit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func request() Request {
	return Request{
		Instance: "px-5f1c", Port: 3128, Scheme: "http", Username: "crawler", Password: "s3cret: #",
		LeaseKey: bytes.Repeat([]byte{7}, 32),
		Forward:  Forward{URL: "https://downloads.example/gatehouse-forward", SHA256: strings.Repeat("ab", 32)},
	}
}

func TestUserDataRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"port":           {func(r *Request) { r.Port = 70000 }, "port 70000: must be 1 to 65535"},
		"scheme":         {func(r *Request) { r.Scheme = "ftp" }, `scheme "ftp": must be http, https or socks5`},
		"certificate":    {func(r *Request) { r.Scheme = "https" }, "scheme https needs tls.crt and tls.key"},
		"half":           {func(r *Request) { r.Password = "" }, "username and password: give both or neither"},
		"colon":          {func(r *Request) { r.Username = "a:b" }, "a username has no colon"},
		"line break":     {func(r *Request) { r.Password = "a\n" }, "neither has a line break"},
		"no credentials": {func(r *Request) { r.Username, r.Password, r.LeaseKey = "", "", nil }, "needs credentials"},
		"instance":       {func(r *Request) { r.Instance = "a b" }, `instance "a b"`},
		"no URL":         {func(r *Request) { r.Forward.URL = "" }, "give --forward-url and --forward-sha256"},
		"http":           {func(r *Request) { r.Forward.URL = "http://a/b" }, "is no https URL"},
		"quote":          {func(r *Request) { r.Forward.URL = "https://a/b'; rm -rf /; '" }, "is no https URL"},
		"hash":           {func(r *Request) { r.Forward.SHA256 = "ab" }, "64 hexadecimal digits"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			c.change(&r)
			_, err := UserData(r)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

func TestLowPortsMayBeBound(t *testing.T) {
	r := request()
	r.Port = 443
	got, err := UserData(r)
	if err != nil || !bytes.Contains(got, []byte("AmbientCapabilities=CAP_NET_BIND_SERVICE")) {
		t.Errorf("no capability for port 443 (%v):\n%s", err, got)
	}
}

// TestInstallScript runs the script for real, below a directory.
func TestInstallScript(t *testing.T) {
	program := []byte("the program")
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if tries++; tries == 1 {
			_, _ = fmt.Fprint(w, "an error page that answers 200")
			return
		}
		_, _ = w.Write(program)
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(program)

	t.Run("right at last", func(t *testing.T) {
		root := install(t, Forward{URL: server.URL, SHA256: hex.EncodeToString(sum[:])}, 2, true)
		path := filepath.Join(root, "usr/local/bin/gatehouse-forward")
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, program) {
			t.Fatalf("installed %q (%v)", got, err)
		}
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v", info.Mode())
		}
	})
	t.Run("never right", func(t *testing.T) {
		root := install(t, Forward{URL: server.URL, SHA256: strings.Repeat("00", 32)}, 1, false)
		if left, _ := filepath.Glob(filepath.Join(root, "usr/local/bin/*")); len(left) > 0 {
			t.Errorf("left %v", left)
		}
	})
}

// install runs the script without the pauses between attempts.
func install(t *testing.T, f Forward, attempts int, works bool) string {
	t.Helper()
	root := t.TempDir()
	script := strings.ReplaceAll(installScript(f), "sleep 10", "sleep 0")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), "ROOT="+root, fmt.Sprintf("ATTEMPTS=%d", attempts))
	if out, err := cmd.CombinedOutput(); (err == nil) != works {
		t.Fatalf("the script ended with %v:\n%s", err, out)
	}
	return root
}
