package envoytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	envoy_bootstrap_v3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
)

// startTimeout bounds the time until Envoy is live.
const startTimeout = 30 * time.Second

// Envoy is a running Envoy; it ends with its test.
type Envoy struct {
	t       testing.TB
	dir     string
	process *exec.Cmd
	exited  chan struct{}
	admin   *http.Client
}

// Start runs Envoy and waits until it is live. The admin interface is put on a
// Unix socket of its own. The log is printed when the test fails.
func Start(t testing.TB, b *envoy_bootstrap_v3.Bootstrap) *Envoy {
	t.Helper()
	e := &Envoy{t: t, dir: shortDir(t), exited: make(chan struct{})}
	socket := filepath.Join(e.dir, "admin")
	b = proto.CloneOf(b)
	b.Admin = &envoy_bootstrap_v3.Admin{Address: &envoy_core_v3.Address{Address: &envoy_core_v3.Address_Pipe{
		Pipe: &envoy_core_v3.Pipe{Path: socket, Mode: 0o600},
	}}}
	e.admin = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	e.run(b)
	e.awaitLive()
	return e
}

func (e *Envoy) run(b *envoy_bootstrap_v3.Bootstrap) {
	e.t.Helper()
	log, err := os.Create(filepath.Join(e.dir, "log"))
	if err != nil {
		e.t.Fatalf("create Envoy's log: %v", err)
	}
	e.process = exec.CommandContext(e.t.Context(), Binary(e.t), "--config-path", write(e.t, e.dir, b),
		"--disable-hot-restart", "--concurrency", "1", "--log-level", "warning", "--drain-time-s", "1", "--parent-shutdown-time-s", "2")
	e.process.Stdout, e.process.Stderr = log, log
	e.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := e.process.Start(); err != nil {
		e.t.Fatalf("start Envoy: %v", err)
	}
	go func() {
		defer close(e.exited)
		_ = e.process.Wait()
		_ = log.Close()
	}()
	e.t.Cleanup(e.stop)
}

func (e *Envoy) stop() {
	_ = e.process.Process.Kill()
	<-e.exited
	if e.t.Failed() {
		e.t.Logf("Envoy's log:\n%s", e.log())
	}
}

func (e *Envoy) log() []byte {
	text, _ := os.ReadFile(filepath.Join(e.dir, "log"))
	return bytes.TrimSpace(text)
}

func (e *Envoy) awaitLive() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), startTimeout)
	defer cancel()
	for {
		if body, err := e.ask("/ready"); err == nil && bytes.HasPrefix(body, []byte("LIVE")) {
			return
		}
		select {
		case <-e.exited:
			e.t.Fatal("Envoy ended instead of becoming live")
		case <-ctx.Done():
			e.t.Fatalf("Envoy is not live after %s", startTimeout)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Admin returns the body of one of Envoy's admin pages, for example "/stats".
func (e *Envoy) Admin(path string) []byte {
	e.t.Helper()
	body, err := e.ask(path)
	if err != nil {
		e.t.Fatalf("ask Envoy for %s: %v", path, err)
	}
	return body
}

func (e *Envoy) ask(path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, "http://envoy"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := e.admin.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, body)
	}
	return body, err
}

// Address returns where a listener is bound, "ip:port".
func (e *Envoy) Address(listener string) string {
	e.t.Helper()
	var page struct {
		Statuses []struct {
			Name    string `json:"name"`
			Address struct {
				Socket struct {
					Address string `json:"address"`
					Port    int    `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal(e.Admin("/listeners?format=json"), &page); err != nil {
		e.t.Fatalf("read Envoy's listeners: %v", err)
	}
	for _, l := range page.Statuses {
		if l.Name == listener {
			return fmt.Sprintf("%s:%d", l.Address.Socket.Address, l.Address.Socket.Port)
		}
	}
	e.t.Fatalf("Envoy has no listener %q", listener)
	return ""
}

// shortDir is a directory with a path short enough for a Unix socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "envoy")
	if err != nil {
		t.Fatalf("make a directory for Envoy: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
