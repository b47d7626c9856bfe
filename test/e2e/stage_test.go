package e2e

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// patience bounds every wait for an edit to take effect, generous because the
// race detector and a busy machine slow everything down. Speed is measured elsewhere.
const patience = 20 * time.Second

// stage is a directory of objects, the backends that they name, and the gatehouse
// that serves them. Words like @HTTP@ in files stand for ports and key pairs.
type stage struct {
	*rig.Instance
	dir, state            string
	http, https, tcp      uint16
	red, green, blue      *backend.HTTP
	left, right           *backend.TCP
	ca                    *tlsutil.CA
	roots                 *x509.CertPool
	words                 *strings.Replacer
	binary                string
	options               rig.Options
	expectFailure, closed bool
}

// prepare makes a stage that does not run yet.
func prepare(t *testing.T) *stage {
	t.Helper()
	tmp := t.TempDir()
	s := &stage{dir: filepath.Join(tmp, "config"), state: filepath.Join(tmp, "state"), roots: x509.NewCertPool(), binary: os.Getenv(binaryVariable)}
	s.http, s.https, s.tcp = port(t), port(t), port(t)
	for s.http == s.https || s.http == s.tcp || s.https == s.tcp {
		s.http, s.https, s.tcp = port(t), port(t), port(t)
	}
	s.red, s.green, s.blue = startHTTP(t, "red"), startHTTP(t, "green"), startHTTP(t, "blue")
	s.left, s.right = startTCP(t, "left"), startTCP(t, "right")
	s.ca = must(tlsutil.NewCA("e2e", tlsutil.From(time.Now().Add(-time.Hour), 90*24*time.Hour)))(t)
	s.roots.AppendCertsFromPEM(s.ca.Cert)
	words := []string{"@HTTP@", str(s.http), "@HTTPS@", str(s.https), "@TCP@", str(s.tcp)}
	for _, b := range []*backend.HTTP{s.red, s.green, s.blue} {
		words = append(words, "@"+strings.ToUpper(b.Name)+"@", str(b.Addr.Port()))
	}
	for _, b := range []*backend.TCP{s.left, s.right} {
		words = append(words, "@"+strings.ToUpper(b.Name)+"@", str(b.Addr.Port()))
	}
	s.words = strings.NewReplacer(words...)
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs gatehouse over what was written so far and waits until it is ready.
func start(t *testing.T, files map[string]string, args ...string) *stage {
	t.Helper()
	s := prepare(t)
	for name, text := range files {
		s.write(t, name, text)
	}
	s.run(t, args...)
	s.must(t, s.WaitReady)
	return s
}

// run starts the instance; the test ends it and looks at how it ended.
func (s *stage) run(t *testing.T, args ...string) {
	t.Helper()
	s.options = rig.Options{Binary: s.binary, Config: []string{s.dir}, StateDir: s.state, Args: args, Env: []string{"GORACE=halt_on_error=0"}}
	s.again(t)
	t.Cleanup(func() { s.end(t) })
}

// again starts an instance like the one before.
func (s *stage) again(t *testing.T) {
	t.Helper()
	// It must outlive the test's context to be drained.
	i, err := rig.Start(context.WithoutCancel(t.Context()), s.options)
	if err != nil {
		t.Fatal(err)
	}
	s.Instance, s.closed = i, false
}

// end drains the instance and fails the test unless that went well.
func (s *stage) end(t *testing.T) {
	t.Helper()
	if s.closed {
		return
	}
	s.closed = true
	err := s.Stop()
	if err != nil && !s.expectFailure {
		t.Errorf("gatehouse must end with status 0: %v", err)
	}
	s.inspect(t)
}

// inspect looks for what must never be in the output.
func (s *stage) inspect(t *testing.T) {
	t.Helper()
	out := s.Output()
	for _, bad := range []string{"DATA RACE", "panic:", "goroutine ", "PRIVATE KEY"} {
		if strings.Contains(out, bad) {
			t.Errorf("gatehouse's output contains %q", bad)
		}
	}
	if t.Failed() {
		t.Logf("gatehouse said:\n%s", out)
	}
}

// write replaces a file of the configuration in one step.
func (s *stage) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.WriteFile(path+".new", []byte(s.words.Replace(text)), 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// must fails the test unless f succeeds within patience.
func (s *stage) must(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := f(ctx); err != nil {
		t.Fatalf("%v\ngatehouse said:\n%s", err, s.Output())
	}
}

// eventually waits until check returns nil.
func (s *stage) eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	s.must(t, func(ctx context.Context) error { return s.Until(ctx, what, check) })
}

// waitState waits until an object has a verdict of a state, and returns it.
func (s *stage) waitState(t *testing.T, kind, name string, want verdict.State) verdict.Verdict {
	t.Helper()
	var v verdict.Verdict
	s.must(t, func(ctx context.Context) (err error) {
		v, err = s.WaitState(ctx, kind, name, want)
		return err
	})
	return v
}

// waitReason waits until some step of an object's verdict has a reason, and returns the step.
func (s *stage) waitReason(t *testing.T, kind, name, reason string) verdict.Step {
	t.Helper()
	var found verdict.Step
	s.eventually(t, fmt.Sprintf("%s %s has reason %s", kind, name, reason), func(ctx context.Context) error {
		v, err := s.API().Verdict(ctx, kind, name)
		if err != nil {
			return err
		}
		for _, step := range v.Steps {
			if step.Reason == reason {
				found = step
				return nil
			}
		}
		return fmt.Errorf("it is %s:%s", v.State, rig.Steps(v))
	})
	return found
}

// secret writes a TLS Secret of namespace e2e.
func (s *stage) secret(t *testing.T, file, name string, sans ...string) {
	t.Helper()
	s.write(t, file, s.sealed(t, name, sans...))
}

// sealed is a TLS Secret of namespace e2e with a pair of its own.
func (s *stage) sealed(t *testing.T, name string, sans ...string) string {
	t.Helper()
	pair := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 30*24*time.Hour), sans...))(t)
	return secretYAML(name, pair.Cert, pair.Key)
}

func secretYAML(name string, cert, key []byte) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: e2e}
type: kubernetes.io/tls
data:
  tls.crt: %s
  tls.key: %s
`, name, base64.StdEncoding.EncodeToString(cert), base64.StdEncoding.EncodeToString(key))
}

func port(t *testing.T) uint16 {
	t.Helper()
	return must(rig.FreePort(t.Context()))(t)
}

func startHTTP(t *testing.T, name string) *backend.HTTP {
	t.Helper()
	b := must(backend.StartHTTP(t.Context(), name, "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func startTCP(t *testing.T, name string) *backend.TCP {
	t.Helper()
	b := must(backend.StartTCP(t.Context(), name, "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// must unwraps a value: must(f())(t).
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func str(port uint16) string { return strconv.Itoa(int(port)) }
