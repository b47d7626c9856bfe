package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// binaryVariable names the binary that Route runs.
const binaryVariable = "GATEHOUSE_POSTGRES_BINARY"

// Main runs tests that call Route: it builds gatehouse once before them, unless
// $GATEHOUSE_POSTGRES_BINARY names one.
func Main(m *testing.M) int {
	if os.Getenv(binaryVariable) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "gatehouse-router-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		var path string
		if path, err = rig.Build(context.Background(), dir); err == nil {
			err = os.Setenv(binaryVariable, path)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Router is a running "gatehouse postgres".
type Router struct {
	Address string // for clients, 127.0.0.1:port
	Health  string // URL of the health server
	Log     *rig.Output
	Ended   <-chan struct{} // closed once it has ended
	cmd     *exec.Cmd
	err     error
}

// Route starts a router on free ports with more flags, waits until it listens, and ends
// it with the test. Whether it is ready is told by Ready.
func Route(tb testing.TB, flags ...string) *Router {
	tb.Helper()
	binary := os.Getenv(binaryVariable)
	if binary == "" {
		tb.Fatal("there is no binary: TestMain must call Main")
	}
	ended := make(chan struct{})
	r := &Router{Log: new(rig.Output), Ended: ended}
	r.cmd = exec.Command(binary, append([]string{"postgres", "--listen-address=127.0.0.1", "--proxy-start-port=0", "--health-server-port=0", "--admin-address=127.0.0.1:0"}, flags...)...) //nolint:noctx // the clean-up ends it
	r.cmd.Stderr = r.Log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() { defer close(ended); r.err = r.cmd.Wait() }()
	tb.Cleanup(func() { _ = r.cmd.Process.Kill(); <-ended })
	r.until(tb, func() bool { r.Address, r.Health = r.listeners(); return r.Address != "" })
	return r
}

// listeners are what the log says it listens on.
func (r *Router) listeners() (clients, health string) {
	for line := range strings.Lines(r.Log.String()) {
		var said struct{ Msg, Address, Health string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "routing" {
			return said.Address, said.Health
		}
	}
	return "", ""
}

// Ready waits until the router says that it is.
func (r *Router) Ready(tb testing.TB) *Router {
	tb.Helper()
	r.until(tb, func() bool { status, _ := r.Get(tb, "/ready"); return status == http.StatusOK })
	return r
}

// Get returns status and body of an answer of the health server, 0 for none.
func (r *Router) Get(tb testing.TB, path string) (int, string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Health+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body)
}

// Signal sends the router a signal.
func (r *Router) Signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		tb.Fatal(err)
	}
}

// Wait returns how the router ended, once it has. The test fails if that takes longer
// than within.
func (r *Router) Wait(tb testing.TB, within time.Duration) error {
	tb.Helper()
	select {
	case <-r.Ended:
	case <-time.After(within):
		tb.Fatalf("it does not end: %s", r.Log)
	}
	return r.err
}

// until waits for a condition while the router runs.
func (r *Router) until(tb testing.TB, condition func() bool) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(startTime)
	for !condition() {
		select {
		case <-tick.C:
		case <-r.Ended:
			tb.Fatalf("it ended with %v: %s", r.err, r.Log)
		case <-late:
			tb.Fatalf("it takes too long: %s", r.Log)
		}
	}
}

// PID is that of the router's process.
func (r *Router) PID() int { return r.cmd.Process.Pid }
