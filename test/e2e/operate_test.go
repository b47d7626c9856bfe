package e2e

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// TestKeysStayInside: no way to look at an instance shows a private key.
func TestKeysStayInside(t *testing.T) {
	s := prepare(t)
	pair := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "a.e2e.test"))(t)
	s.write(t, "base.yaml", base)
	s.write(t, "gateway.yaml", gateway("edge", "  - {name: a, protocol: HTTPS, port: @HTTPS@, tls: {certificateRefs: [{name: a-tls}]}}\n"))
	s.write(t, "a.yaml", secretYAML("a-tls", pair.Cert, pair.Key))
	s.write(t, "r.yaml", route("r", "a", "a.e2e.test", `  - `+to("red")))
	s.run(t)
	s.must(t, s.WaitReady)
	if err := s.try(t.Context(), "a.e2e.test", try{through: "https", from: "red"}); err != nil {
		t.Fatal(err)
	}

	shown := map[string]string{
		"translate":   s.output(t, "translate", "-f", s.dir, "--to", "xds"),
		"model":       s.output(t, "translate", "-f", s.dir, "--to", "model"),
		"config dump": s.page(t, "/config_dump?gateway=e2e/edge"),
		"state":       states(t, s.state),
	}
	for _, args := range [][]string{{"status", "secret", "e2e/a-tls", "-o", "yaml"}, {"why", "secret", "e2e/a-tls", "-o", "json"}, {"status", "-o", "json"}} {
		r := must(s.Ask(t.Context(), args...))(t)
		shown[strings.Join(args, " ")] = r.Stdout + r.Stderr
	}
	// One line of its middle is enough to recognise the key in any form.
	lines := strings.Split(string(pair.Key), "\n")
	for what, text := range shown {
		if len(text) < 20 {
			t.Errorf("%s says nothing: %q", what, text)
		}
		for _, secret := range []string{"PRIVATE KEY", lines[1], base64.StdEncoding.EncodeToString(pair.Key)} {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows the private key", what)
			}
		}
	}
}

// output runs a command that needs no instance.
func (s *stage) output(t *testing.T, args ...string) string {
	t.Helper()
	r := must(rig.Command(t.Context(), s.binary, args...))(t)
	if r.Exit != 0 {
		t.Errorf("gatehouse %s exits %d:\n%s", strings.Join(args, " "), r.Exit, r.Stderr)
	}
	return r.Stdout
}

// page returns a page of the admin API.
func (s *stage) page(t *testing.T, path string) string {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Admin+path, nil))(t)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body := must(io.ReadAll(resp.Body))(t)
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s answers %s: %s", path, resp.Status, body)
	}
	return string(body)
}

// states is the content of every file that an instance keeps, but for the one that
// accepted Secrets are in: that has to be readable by its owner alone.
func states(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if d.Name() == "accepted-secrets.journal" {
			if info := must(d.Info())(t); info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %s, want 0600", path, info.Mode())
			}
			return nil
		}
		raw, err := os.ReadFile(path)
		all.WriteString(path + "\n")
		all.Write(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestRefusesToStart: one line that says what is wrong and what to do.
func TestRefusesToStart(t *testing.T) {
	s := start(t, simple())
	for _, c := range []struct {
		name  string
		args  []string
		exit  int
		words []string
	}{
		{"state directory in use", []string{"--config", s.dir, "--state-dir", s.state}, 1, []string{s.state}},
		{"no Envoy there", []string{"--config", s.dir, "--state-dir", t.TempDir(), "--envoy", "/nowhere/envoy"}, 1, []string{"/nowhere/envoy"}},
		{"admin address in use", []string{"--config", s.dir, "--state-dir", t.TempDir(), "--admin-address", s.Admin}, 1, []string{s.Admin}},
		{"no such directory", []string{"--config", "/nowhere/shop", "--state-dir", t.TempDir()}, 2, []string{"/nowhere/shop"}},
		{"nothing to watch", []string{"--state-dir", t.TempDir()}, 2, []string{"--config"}},
		{"no such flag", []string{"--confg", s.dir}, 2, []string{"--confg"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			args := append([]string{"run", "--metrics-address", "127.0.0.1:0"}, c.args...)
			if !strings.Contains(strings.Join(args, " "), "--admin-address") {
				args = append(args, "--admin-address", "127.0.0.1:0")
			}
			r := must(rig.Command(ctx, s.binary, args...))(t)
			if r.Exit != c.exit || !hasAll(r.Stderr, c.words) {
				t.Errorf("exit %d, want %d and the words %q:\n%s%s", r.Exit, c.exit, c.words, r.Stdout, r.Stderr)
			}
		})
	}
	if err := s.try(t.Context(), "only"+domain, try{from: "red"}); err != nil {
		t.Errorf("the running instance suffered: %v", err)
	}
}

// TestProxyAdminIsPrivate: a Unix socket for its owner, and no TCP port.
func TestProxyAdminIsPrivate(t *testing.T) {
	s := start(t, simple())
	pids := envoys(t, s.PID())
	if len(pids) != 1 {
		t.Fatalf("Envoys: %v, want one", pids)
	}
	listening := listeningTCP(t, pids[0])
	if len(listening) != 1 || listening[0] != s.http {
		t.Errorf("Envoy listens on TCP ports %v, want only %d", listening, s.http)
	}
}
