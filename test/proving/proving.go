// Package proving runs real Envoys that are told over xDS what to take: a Prover with
// its own, for what judges candidates, and one that gets resources as they are, for what
// a serving Envoy would say of them. Both are in network namespaces of their own where
// any can be made, and end with their test.
package proving

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/xds"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// Patience bounds every wait; nothing comes near it.
const Patience = 30 * time.Second

// Envoy is one that is connected to a server of its own.
type Envoy struct {
	t         testing.TB
	group     string
	target    *xds.Target
	processes *host.Supervisor
	tell      func(host.Event)

	mu     sync.Mutex
	pid    int
	starts int
}

// start makes a server and a supervisor without an Envoy.
func start(t testing.TB, group string, o xdsserve.Options, tell func(host.Event)) *Envoy {
	t.Helper()
	state := filepath.Join(t.TempDir(), "s")
	sockets, err := host.SocketDir(state)
	must(t, err)
	socket := filepath.Join(sockets, "xds.sock")
	e := &Envoy{t: t, group: group, target: xds.New(socket, 64<<20, o), tell: tell}
	must(t, e.target.Start(t.Context()))
	e.processes, err = host.New(t.Context(), host.Options{
		Envoy: envoytest.Binary(t), StateDir: state, XDSSocket: socket, Isolated: true,
		DrainTime: time.Second, DrainTimeout: time.Millisecond, MaxPause: 100 * time.Millisecond, Observe: e.news,
	})
	must(t, err)
	ctx := context.WithoutCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = e.target.Run(ctx) })
	t.Cleanup(func() {
		if err := e.processes.Stop(ctx); err != nil {
			t.Error(err)
		}
		_ = e.target.Stop(ctx)
		running.Wait()
		_ = host.RemoveSocketDir(sockets)
	})
	return e
}

// Begin starts the Envoy.
func (e *Envoy) Begin() {
	e.processes.Ensure([]model.Gateway{{ID: model.GatewayID(e.group), Settings: model.Settings{Concurrency: 1}}})
}

func (e *Envoy) news(n host.Event) {
	e.tell(n)
	e.mu.Lock()
	defer e.mu.Unlock()
	if n.Kind == host.Started {
		e.pid, e.starts = n.PID, e.starts+1
	}
	if n.Kind == host.Exited {
		e.pid = 0
	}
}

// Process returns the pid, 0 while there is none, and how often one was started.
func (e *Envoy) Process() (pid, starts int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.pid, e.starts
}

// Signal sends a signal to the process, if there is one.
func (e *Envoy) Signal(s unix.Signal) {
	if pid, _ := e.Process(); pid != 0 {
		must(e.t, unix.Kill(pid, s))
	}
}

// Until waits for a condition.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(Patience)
	for !done() {
		select {
		case <-deadline:
			t.Fatalf("not in %s: %s", Patience, what)
		case <-time.After(time.Millisecond):
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
