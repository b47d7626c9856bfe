package prover_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/infra/host"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/publish/xds"
	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of the tests; nothing comes near it.
const patience = 30 * time.Second

// rig is a Prover with a real Envoy.
type rig struct {
	*prover.Prover
	t         testing.TB
	processes *host.Supervisor
	target    *target

	mu     sync.Mutex
	pid    int
	starts int
}

// target is what the Prover publishes to, with something to do before it does.
type target struct {
	*xds.Target
	before    func(xdsserve.Update)
	published []xdsserve.Update
}

func (t *target) Publish(u xdsserve.Update) uint64 {
	if t.before != nil {
		t.before(u)
	}
	t.published = append(t.published, u)
	return t.Target.Publish(u)
}

// Answers implements prover.Process.
func (r *rig) Answers(ctx context.Context) error { return r.processes.Answers(ctx, prover.Group) }

// Restart implements prover.Process.
func (r *rig) Restart() { _ = r.processes.Restart(prover.Group) }

func newRig(t testing.TB, o prover.Options) *rig {
	t.Helper()
	r := newRigWithout(t, o)
	ensure(r)
	return r
}

// newRigWithout has no Envoy yet.
func newRigWithout(t testing.TB, o prover.Options) *rig {
	t.Helper()
	state := filepath.Join(t.TempDir(), "s")
	sockets, err := host.SocketDir(state)
	must(t, err)
	socket := filepath.Join(sockets, "xds.sock")
	r := &rig{t: t, target: &target{Target: xds.New(socket, 64<<20, prover.ServerOptions())}}
	must(t, r.target.Start(t.Context()))
	o.Target, o.Process = r.target, r
	r.Prover, err = prover.New(o)
	must(t, err)
	r.processes, err = host.New(t.Context(), host.Options{
		Envoy: envoytest.Binary(t), StateDir: state, XDSSocket: socket, Isolated: true,
		DrainTime: time.Second, DrainTimeout: time.Millisecond, MaxPause: 100 * time.Millisecond, Observe: r.news,
	})
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = r.target.Run(ctx) })
	running.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() {
		if err := r.processes.Stop(ctx); err != nil {
			t.Error(err)
		}
		_ = r.target.Stop(ctx)
		cancel()
		running.Wait()
		_ = host.RemoveSocketDir(sockets)
	})
	return r
}

func (r *rig) news(e host.Event) {
	if e.Kind == host.Exited && e.Err != nil {
		r.Died(e.Err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Kind == host.Started {
		r.pid, r.starts = e.PID, r.starts+1
	}
	if e.Kind == host.Exited {
		r.pid = 0
	}
}

func (r *rig) process() (pid, starts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pid, r.starts
}

func (r *rig) signal(s unix.Signal) {
	pid, _ := r.process()
	if pid == 0 {
		return
	}
	must(r.t, unix.Kill(pid, s))
}

// try judges a change of what was accepted.
func (r *rig) try(u xdsserve.Update) validator.Verdict {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	return r.Validate(ctx, validator.Candidate{Delta: u})
}

func (r *rig) accepts(resources ...xdsserve.Resource) {
	r.t.Helper()
	if v := r.try(xdsserve.Update{Set: resources}); len(v.Refusals) > 0 || v.Unavailable != "" {
		r.t.Fatalf("verdict %+v, want it accepted", v)
	}
}

// refuses returns the refusals of a candidate, which must have some.
func (r *rig) refuses(resources ...xdsserve.Resource) []validator.Refusal {
	r.t.Helper()
	v := r.try(xdsserve.Update{Set: resources})
	if len(v.Refusals) == 0 || v.Unavailable != "" {
		r.t.Fatalf("verdict %+v, want it refused", v)
	}
	return v.Refusals
}

func (r *rig) until(what string, done func() bool) {
	r.t.Helper()
	deadline := time.After(patience)
	for !done() {
		select {
		case <-deadline:
			r.t.Fatalf("not in %s: %s", patience, what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func named(i int) string { return fmt.Sprintf("h%05d.example", i) }

func ensure(r *rig) {
	r.processes.Ensure([]model.Gateway{{ID: prover.Group, Settings: model.Settings{Concurrency: 1}}})
}
