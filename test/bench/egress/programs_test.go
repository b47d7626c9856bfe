package egress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// ways are the proxies that are compared.
type ways struct{ forward, super, squid string }

// start runs gatehouse-forward, and by it the super-proxy and squid.
func start(b *testing.B) ways {
	b.Helper()
	dir := b.TempDir()
	gatehouse, err := rig.Build(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	var w ways
	for _, address := range []*string{&w.forward, &w.super, &w.squid} {
		port, err := rig.FreePort(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		*address = fmt.Sprintf("127.0.0.1:%d", port)
	}
	api := leases(b, w.forward)
	run(b, w.forward, gatehouse, "forward", "--listen", w.forward, "--allow-destinations", "127.0.0.0/8")
	run(b, w.super, gatehouse, "egress", "--listen", w.super, "--allow-unauthenticated", "--allow-destinations", "127.0.0.0/8",
		"--lease-api", api, "--admin-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0", "--drain-timeout", "1s")
	squid, err := exec.LookPath("squid")
	if err != nil {
		squid = "/usr/sbin/squid"
	}
	run(b, w.squid, squid, "-N", "-f", squidConf(b, w))
	return w
}

// squidConf has squid ask its parent for everything, and keep nothing.
func squidConf(b *testing.B, w ways) string {
	b.Helper()
	_, parent, _ := net.SplitHostPort(w.forward)
	path := filepath.Join(b.TempDir(), "squid.conf")
	text := "http_port " + w.squid + "\ncache_peer 127.0.0.1 parent " + parent + " 0 no-query no-digest no-netdb-exchange default\nnever_direct allow all\n" +
		"http_access allow all\ncache deny all\naccess_log none\ncache_log /dev/null\npid_filename none\nvia off\nforwarded_for delete\n" +
		"shutdown_lifetime 1 seconds\nmax_filedescriptors 8192\npinger_enable off\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // squid reads it as another user
		b.Fatal(err)
	}
	return path
}

// leases is an API that always grants the one proxy: sessions ask once.
func leases(b *testing.B, proxy string) (url string) {
	b.Helper()
	_, port, _ := net.SplitHostPort(proxy)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"leaseID": strings.Repeat("0", 32), "expiresAt": time.Now().Add(time.Hour), "ttlSeconds": 3600,
			"proxy": map[string]any{"name": "px", "namespace": "bench", "url": "http://" + proxy, "host": "127.0.0.1", "port": json.Number(port), "scheme": "http"},
		})
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// run starts a program, and waits until it listens.
func run(b *testing.B, address, program string, args ...string) {
	b.Helper()
	cmd := exec.Command(program, args...)
	output := new(rig.Output)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
	})
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ctx.Done():
			b.Fatalf("%s does not listen: %v\n%s", program, err, output)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// bulk is what the target sends of /bulk, in bytes.
const bulk = 32 << 20

// target answers a kilobyte, or bulk.
func target(b *testing.B) (url string) {
	b.Helper()
	page, piece := make([]byte, 1<<10), make([]byte, 64<<10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bulk" {
			_, _ = w.Write(page)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(bulk))
		for range bulk / len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	b.Cleanup(s.Close)
	return s.URL
}

// drain reads a response to its end.
func drain(resp *http.Response) error {
	_, err := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return err
}
