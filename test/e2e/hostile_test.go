package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// TestCertificateWithoutItsKey: the listener that wants it says so, the others serve,
// and a good pair that served before keeps serving.
func TestCertificateWithoutItsKey(t *testing.T) {
	s := prepare(t)
	one := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "a.e2e.test"))(t)
	two := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "a.e2e.test"))(t)
	s.write(t, "base.yaml", base)
	s.write(t, "gateway.yaml", gateway("edge", listeners))
	s.secret(t, "b.yaml", "b-tls", "b.e2e.test")
	s.write(t, "a.yaml", secretYAML("a-tls", one.Cert, two.Key))
	s.write(t, "r.yaml", route("r", "b", "b.e2e.test", `  - `+to("red")))
	s.write(t, "ra.yaml", route("ra", "a", "a.e2e.test", `  - `+to("green")))
	s.run(t)
	s.eventually(t, "the other certificate serves", func(ctx context.Context) error {
		return s.try(ctx, "b.e2e.test", try{through: "https", from: "red"})
	})
	s.eventually(t, "the secret or its Gateway says what is wrong", func(ctx context.Context) error {
		return s.explains(ctx, "key", "secret e2e/a-tls", "gateway e2e/edge")
	})
	if _, err := s.handshake(t.Context(), "a.e2e.test"); err == nil {
		t.Error("a certificate without its key was served")
	}

	s.write(t, "a.yaml", secretYAML("a-tls", one.Cert, one.Key))
	s.eventually(t, "the repaired pair serves", func(ctx context.Context) error {
		return s.try(ctx, "a.e2e.test", try{through: "https", from: "green"})
	})
	s.write(t, "a.yaml", secretYAML("a-tls", one.Cert, two.Key))
	s.eventually(t, "the broken pair is noticed", func(ctx context.Context) error {
		return s.explains(ctx, "key", "secret e2e/a-tls", "gateway e2e/edge")
	})
}

// explains fails unless a step of some object's verdict that is no success contains a word.
func (s *stage) explains(ctx context.Context, word string, objects ...string) error {
	var said strings.Builder
	for _, object := range objects {
		kind, name, _ := strings.Cut(object, " ")
		v, err := s.API().Verdict(ctx, kind, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&said, "%s is %s:%s\n", object, v.State, rig.Steps(v))
		for _, step := range v.Steps {
			if step.Outcome != verdict.OK && strings.Contains(step.Message, word) {
				return nil
			}
		}
	}
	return fmt.Errorf("nothing says %q:\n%s", word, &said)
}

// TestRegularExpressionThatRE2Refuses: what served keeps serving, the neighbours advance.
func TestRegularExpressionThatRE2Refuses(t *testing.T) {
	s := start(t, simple())
	regex := func(pattern string) string {
		return route("only", "http", "only"+domain, fmt.Sprintf(`  - matches: [{path: {type: RegularExpression, value: "%s"}}]
    %s`, pattern, to("green")))
	}
	for _, pattern := range []string{"/(", "/a(?=b)", "/(a)\\\\1"} {
		s.write(t, "route.yaml", regex(pattern))
		s.eventually(t, "why names the pattern", func(ctx context.Context) error {
			// In the file and in the message it is quoted the same way.
			return s.explains(ctx, `"`+pattern+`": invalid regular expression`, "httproute e2e/only")
		})
		s.tell(t, story{name: "neighbour", host: "neighbour", rules: `  - ` + to("blue"), tries: []try{{from: "blue"}}})
	}
	s.write(t, "route.yaml", regex("/a+"))
	s.eventually(t, "the repaired route serves", func(ctx context.Context) error {
		return s.try(ctx, "only"+domain, try{path: "/aaa", from: "green"})
	})
}

// TestHostileFiles: one good route beside everything else that a directory can hold.
func TestHostileFiles(t *testing.T) {
	s := prepare(t)
	for name, text := range simple() {
		s.write(t, name, text)
	}
	for name, text := range map[string]string{
		"truncated.yaml": "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: x, namesp",
		"binary.yaml":    "\x00\x01\x02\xff\xfe",
		"deep.yaml":      strings.Repeat("[", 100_000),
		"anchors.yaml":   "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f]\n",
		"kind.yaml":      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, namespace: e2e}\n",
		"version.yaml":   "apiVersion: gateway.networking.k8s.io/v7\nkind: HTTPRoute\nmetadata: {name: x, namespace: e2e}\n",
		"empty.yaml":     "",
	} {
		s.write(t, name, text)
	}
	if err := syscall.Mkfifo(filepath.Join(s.dir, "fifo.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.dir, filepath.Join(s.dir, "loop")); err != nil {
		t.Fatal(err)
	}
	s.run(t)
	s.must(t, s.WaitReady)
	if err := s.try(t.Context(), "only"+domain, try{from: "red"}); err != nil {
		t.Error(err)
	}
	s.write(t, "route.yaml", route("only", "http", "only"+domain, `  - `+to("green")))
	s.eventually(t, "edits are followed", func(ctx context.Context) error {
		return s.try(ctx, "only"+domain, try{from: "green"})
	})
	r := must(rig.Command(t.Context(), s.binary, "validate", "-f", s.dir))(t)
	for _, name := range []string{"truncated", "binary", "deep", "anchors", "kind", "version"} {
		if r.Exit != 1 || !strings.Contains(r.Stdout, name+".yaml") {
			t.Errorf("validate does not name %s.yaml; it exits %d:\n%s%s", name, r.Exit, r.Stdout, r.Stderr)
		}
	}
}

// TestStateDirectoryFull: what cannot be kept is said; traffic and edits go on.
func TestStateDirectoryFull(t *testing.T) {
	s := prepare(t)
	for name, text := range simple() {
		s.write(t, name, text)
	}
	if err := os.Mkdir(s.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", s.state, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatalf("mount a small tmpfs (the tests run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(s.state, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	s.run(t)
	s.must(t, s.WaitReady)
	fill(t, filepath.Join(s.state, "fill"))
	s.write(t, "route.yaml", route("only", "http", "only"+domain, `  - `+to("green")))
	s.eventually(t, "edits are followed", func(ctx context.Context) error {
		return s.try(ctx, "only"+domain, try{from: "green"})
	})
	s.eventually(t, "it says that the disk is full", func(context.Context) error {
		if !strings.Contains(s.Output(), "no space left") {
			return fmt.Errorf("no word of it")
		}
		return nil
	})
}

// fill writes until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f := must(os.Create(path))(t)
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for range 10_000 {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
	t.Fatal("the disk did not fill up")
}

// waitGone waits until processes have ended, reaped or not.
func waitGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			t.Fatalf("watch process %d: %v", pid, err)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if n != 1 {
			t.Errorf("process %d still runs: %v", pid, err)
		}
		_ = unix.Close(fd)
	}
}
