package postgres_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// The real binary, a real server, a real psql: a session through TLS, health, and an
// orderly end.
func TestRouter(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	dir, err := os.MkdirTemp("", "gatehouse-router-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary, err := rig.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	clients, health := port(t), port(t)
	var log rig.Output
	cmd := exec.Command(binary, "postgres", "--static-backends", "orders="+server.Address,
		"--proxy-start-port", clients, "--health-server-port", health)
	cmd.Stderr = &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for deadline := time.Now().Add(20 * time.Second); get(t, health, "/ready") != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatalf("not ready: %s", log.String())
		}
	}
	address := net.JoinHostPort("127.0.0.1", clients)
	out, err := exec.CommandContext(t.Context(), "psql", pgtest.DSN(address, "postgres.orders", "sslmode=require"), "-Atc",
		"select current_user, current_database()").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "postgres|postgres" {
		t.Errorf("psql says %q, %v", out, err)
	}
	out, err = exec.CommandContext(t.Context(), "psql", pgtest.DSN(address, "postgres", ""), "-c", "select 1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "names no deployment") || !strings.Contains(string(out), "HINT") {
		t.Errorf("a bare login is told %q, %v", out, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ends with %v: %s", err, log.String())
		}
	case <-time.After(30 * time.Second):
		t.Error("it does not end")
	}
	if text := log.String(); strings.Contains(text, pgtest.Password) || !strings.Contains(text, `"msg":"session refused"`) {
		t.Errorf("the log has a password, or lacks the refusal: %s", text)
	}
}

func port(t *testing.T) string {
	t.Helper()
	p, err := rig.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(int(p))
}

// get returns the status of an answer, 0 for none.
func get(t *testing.T, port, path string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}
