package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// program writes a shell script in the place of Envoy.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "envoy")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCrashLoopSlowsDownAndSaysWhy(t *testing.T) {
	r := newRig(t)
	r.options.Envoy = program(t, "echo '[2026-01-01 00:00:00.000][1][critical][main] [source/server/server.cc:1] no such luck' >&2; exit 3")
	r.start(t, gateway(edge))
	var pauses []time.Duration
	for range 3 {
		e := r.events.next(t, Exited)
		failure, ok := errors.AsType[*ExitError](e.Err)
		if !ok || failure.Code != 3 || failure.Signal != 0 || !slices.Equal(failure.Log, []string{"no such luck"}) || !e.Again {
			t.Fatalf("event %+v", e)
		}
		pauses = append(pauses, e.Restart)
	}
	if want := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %s, want %s", pauses, want)
	}
}

func TestOneGatewayThatCannotStartHoldsBackNoOther(t *testing.T) {
	r := newRig(t)
	bad := model.GatewayID("shop/bad")
	blocked := filepath.Join(r.options.StateDir, "proxies", folderName(bad))
	if err := os.MkdirAll(filepath.Dir(blocked), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.start(t, gateway(edge), gateway(bad))
	e := r.events.next(t, Exited)
	if e.Gateway != bad || e.PID != 0 || !strings.Contains(e.Err.Error(), "gateway shop/bad: start envoy: ") || !errors.Is(e.Err, unix.ENOTDIR) || e.Restart < firstPause {
		t.Errorf("event %+v", e)
	}
	eventually(t, "the other Gateway is ready", func() bool { p := s.proxies(); return len(p) == 1 && p[0].Ready })
	r.mustGet(t)
}

func TestFullDiskIsSaid(t *testing.T) {
	r := newRig(t)
	disk := filepath.Join(r.options.StateDir, "proxies", folderName("shop/full"))
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("only root can mount a full disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Errorf("unmount %s: %v", disk, err)
		}
	})
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), r.options)
	if err != nil {
		t.Fatal(err)
	}
	defer stopNow(t, s)
	s.Ensure([]model.Gateway{gateway("shop/full"), gateway(edge)})
	e := r.events.next(t, Exited)
	if !errors.Is(e.Err, unix.ENOSPC) || !strings.Contains(e.Err.Error(), "--state-dir") || !e.Again {
		t.Errorf("event %+v", e)
	}
	eventually(t, "the other Gateway is ready", func() bool { p := s.proxies(); return len(p) == 1 && p[0].Ready })
	r.mustGet(t)
}

func TestNewRefuses(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no such Envoy":        {func(o *Options) { o.Envoy = "/nowhere/envoy" }, `envoy "/nowhere/envoy": no such file or directory; name an Envoy 1.40.0 binary with --envoy`},
		"state is a file":      {func(o *Options) { o.StateDir = os.Args[0] }, "not a directory; name one that can be written with --state-dir"},
		"long path of sockets": {func(o *Options) { o.XDSSocket = "/" + strings.Repeat("x", 107) }, "its path has 108 bytes, at most 107 are possible"},
	} {
		t.Run(name, func(t *testing.T) {
			o := r.options
			c.change(&o)
			if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestConfigDumpHoldsNoKey(t *testing.T) {
	now := time.Now()
	pair, err := tlsutil.SelfSigned(tlsutil.From(now.Add(-time.Hour), 24*time.Hour), "a.example")
	if err != nil {
		t.Fatal(err)
	}
	r := newRigWith(t, func(address string) []resource {
		return []resource{tlsListener("web", address, "cert"), secret("cert", pair.Cert, pair.Key)}
	})
	s := r.start(t, gateway(edge))
	r.events.next(t, Ready)
	var dump []byte
	eventually(t, "the listener is active", func() bool {
		dump, err = s.ConfigDump(t.Context(), edge)
		return err != nil || bytes.Contains(dump, []byte(`"active_state"`))
	})
	if err != nil || !json.Valid(dump) {
		t.Fatalf("%d bytes, error %v", len(dump), err)
	}
	key, err := json.Marshal(pair.Key) // in base64, as protobuf's JSON has it
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[redacted]", `"cert"`} {
		redacted, _ := json.Marshal([]byte(want))
		if !bytes.Contains(dump, redacted) && !bytes.Contains(dump, []byte(want)) {
			t.Errorf("the dump does not contain %s", want)
		}
	}
	if bytes.Contains(dump, bytes.Trim(key, `"`)) || bytes.Contains(dump, []byte("PRIVATE KEY")) {
		t.Error("the dump holds the key")
	}
}

// TestAdminIsNotOnTCP: the process listens on what its listeners say, and nothing else.
func TestAdminIsNotOnTCP(t *testing.T) {
	r := newRig(t)
	r.start(t, gateway(edge))
	pid := r.events.next(t, Ready).PID
	sockets := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil {
			sockets[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
	}
	var listening []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue // no IPv6
		}
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); f[3] == "0A" && sockets[f[9]] {
				listening = append(listening, f[1])
			}
		}
	}
	if len(listening) != 1 || !strings.HasSuffix(listening[0], fmt.Sprintf(":%04X", testPort)) {
		t.Errorf("the process listens on %q, want one on port %d", listening, testPort)
	}
}
