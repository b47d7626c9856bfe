package servertls

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

func authority(t *testing.T, name string) []byte {
	t.Helper()
	ca, err := tlsutil.NewCA(name, tlsutil.From(time.Now(), time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return ca.Cert
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNewNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir+"/good.crt", authority(t, "good"))
	cut := write(t, dir+"/cut.crt", authority(t, "cut")[:200])
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"no authorities":       {Options{Mode: VerifyFull, CAFile: dir + "/none.crt"}, "none.crt: no such file"},
		"a directory":          {Options{Mode: VerifyCA, CAFile: dir}, "want a regular file"},
		"half a certificate":   {Options{Mode: VerifyCA, CAFile: cut}, "cut.crt"},
		"no certificate":       {Options{Mode: VerifyCA, CAFile: write(t, dir+"/empty.crt", nil)}, "missing"},
		"an authority's alone": {Options{Mode: Require, CertFile: good, KeyFile: good}, "private key"},
		"an unknown mode":      {Options{Mode: "prefer"}, `"prefer"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if c, err := New(Options{Mode: Disable, CAFile: dir + "/none.crt"}); c != nil || err != nil {
		t.Errorf("in clear: got %v, %v", c, err)
	}
}

// Files are read again by the next handshake, however they were replaced; what cannot be
// used changes nothing, and is said once.
func TestFollowed(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "ca.crt"), authority(t, "first"))
	var log bytes.Buffer
	files, err := follow(slog.New(slog.NewTextHandler(&log, nil)), func(contents [][]byte) (string, error) {
		facts, err := tlsutil.Inspect(contents[0])
		return facts.Subject, err
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	is := func(what, want string) {
		t.Helper()
		if got := files.now(); got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	is("at first", "CN=first")
	write(t, path, authority(t, "other"))
	is("written in place, as long as before, at once", "CN=other")
	write(t, path, []byte("nonsense"))
	is("spoilt", "CN=other")
	is("still spoilt", "CN=other")
	if n := strings.Count(log.String(), "refused"); n != 1 {
		t.Errorf("said %d times: %s", n, &log)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	is("gone", "CN=other")
	if err := os.Rename(write(t, path+".new", authority(t, "third")), path); err != nil {
		t.Fatal(err)
	}
	is("renamed into place", "CN=third")
	old := time.Now().Add(-time.Hour)
	if err := os.Rename(write(t, path+".new", authority(t, "older")), path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	is("another file of an older date", "CN=older")
	target := filepath.Join(dir, "link.crt")
	if err := os.Symlink(write(t, path+".linked", authority(t, "linked")), target); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(target, path); err != nil {
		t.Fatal(err)
	}
	is("a link in its place", "CN=linked")
}

// A file that is old and the same is not read again.
func TestFollowedReadsOnce(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "ca.crt"), authority(t, "old"))
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	reads := 0
	files, err := follow(nil, func([][]byte) (int, error) { reads++; return reads, nil }, path)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := files.now(); got != 1 {
			t.Errorf("read %d times", got)
		}
	}
}
