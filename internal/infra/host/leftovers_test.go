package host

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func TestNoOrphanWhenGatehouseIsKilled(t *testing.T) {
	r := newRig(t)
	supervisor, envoy := r.child(t, false)
	r.mustGet(t)
	kill(t, supervisor)
	waitGone(t, envoy)

	s := r.start(t, gateway(edge))
	if ready := r.events.next(t, Ready); ready.PID == envoy {
		t.Errorf("event %+v of a process that was gone", ready)
	}
	r.mustGet(t)
	if left := folders(string(s.launcher.dir(edge))); len(left) != 1 {
		t.Errorf("folders %q, want those of the new process only", left)
	}
}

func TestKeptEnvoyServesWhileGatehouseIsKilledAndIsAdopted(t *testing.T) {
	r := newRig(t)
	r.options.KeepProxies = true
	r.ads.stop()
	supervisor, envoy := r.child(t, true, r.resources...)
	load := r.traffic(t)
	load.reach(t, 50)
	kill(t, supervisor)
	load.reach(t, 100)
	again := r.serveOnly(t, nil) // Gatehouse is back and has not read its files yet
	eventually(t, "the proxy is connected", func() bool { return len(again.server.Ledger(string(edge))) == 1 })
	load.reach(t, load.requests.Load()+300) // for longer than anything unused is kept
	again.server.Publish(xdsserve.Update{Set: r.resources})
	s := r.start(t, gateway(edge))
	if e := r.events.next(t, Adopted); e.PID != envoy {
		t.Errorf("event %+v, want the adoption of %d", e, envoy)
	}
	if e := r.events.next(t, Ready); e.PID != envoy {
		t.Errorf("event %+v, want %d to be ready", e, envoy)
	}
	if p := s.proxies(); len(p) != 1 || !p[0].Adopted || p[0].PID != envoy {
		t.Errorf("proxies %+v", p)
	}
	eventually(t, "it is connected and has what it should have", func() bool {
		ledger := again.server.Ledger(string(edge))
		return len(ledger) == 1 && ledger[0].Seq == 1 && ledger[0].Behind == 0
	})
	if sent := again.sent.Load(); sent != 0 {
		t.Errorf("%d resources were sent to a proxy that has them", sent)
	}
	load.reach(t, 150)
	requests, failed, first := load.stop()
	if failed > 0 {
		t.Errorf("%d of %d requests failed: %v", failed, requests, first)
	}
	t.Logf("%d requests, none failed", requests)

	if err := unix.Kill(envoy, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := r.events.next(t, Exited); e.PID != envoy || e.Err == nil || !e.Again {
		t.Errorf("event %+v, want the unwanted end of the adopted process", e)
	}
	r.events.next(t, Ready)
	r.mustGet(t)
}

func TestKeptThroughStop(t *testing.T) {
	r := newRig(t)
	r.options.KeepProxies = true
	first, err := New(t.Context(), r.options)
	if err != nil {
		t.Fatal(err)
	}
	first.Ensure([]model.Gateway{gateway(edge)})
	envoy := r.events.next(t, Ready).PID
	killLater(t, envoy)
	load := r.traffic(t)
	load.reach(t, 20)
	stop(t, first)
	second := r.start(t, gateway(edge))
	r.events.next(t, Adopted)
	r.events.next(t, Ready)
	load.reach(t, 40)
	if requests, failed, first := load.stop(); failed > 0 {
		t.Errorf("%d of %d requests failed: %v", failed, requests, first)
	}
	second.Ensure(nil)
	if e := r.events.next(t, Exited); e.PID != envoy || e.Err != nil {
		t.Errorf("event %+v, want the wanted end of %d", e, envoy)
	}
	waitGone(t, envoy)
}

// keptEnvoy leaves an Envoy without a Supervisor, and returns its pid.
func (r *rig) keptEnvoy(t *testing.T) int {
	t.Helper()
	supervisor, envoy := r.child(t, true)
	kill(t, supervisor)
	return envoy
}

func TestKeptEnvoyIsReplacedIfNotWantedAsItIs(t *testing.T) {
	for name, change := range map[string]func(*rig, *model.Gateway){
		"other settings":       func(_ *rig, g *model.Gateway) { g.Settings.Concurrency = 2 },
		"proxies are not kept": func(r *rig, _ *model.Gateway) { r.options.KeepProxies = false },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.options.KeepProxies = true
			old := r.keptEnvoy(t)
			g := gateway(edge)
			change(r, &g)
			r.start(t, g)
			if ready := r.events.next(t, Ready); ready.PID == old {
				t.Errorf("event %+v of the process that was not wanted", ready)
			}
			waitGone(t, old)
			r.mustGet(t)
		})
	}
}

func TestKeptEnvoyOfAGatewayThatIsGoneEnds(t *testing.T) {
	r := newRig(t)
	r.options.KeepProxies = true
	old := r.keptEnvoy(t)
	s := r.start(t, gateway("shop/other"))
	waitGone(t, old)
	eventually(t, "its folder is gone", func() bool {
		_, err := os.Stat(string(s.launcher.dir(edge)))
		return os.IsNotExist(err)
	})
}

func TestKeptEnvoyThatDoesNotAnswerIsReplaced(t *testing.T) {
	r := newRig(t)
	r.options.KeepProxies = true
	old := r.keptEnvoy(t)
	if err := unix.Kill(old, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.start(t, gateway(edge))
	if ready := r.events.next(t, Ready); ready.PID == old {
		t.Errorf("event %+v of a process that hangs", ready)
	}
	r.mustGet(t)
	waitGone(t, old)
}

// TestProcessWithoutPIDInItsRecord: Gatehouse was killed between the start of a
// process and the record of it.
func TestProcessWithoutPIDInItsRecord(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir start){
		"not yet written": func(t *testing.T, dir start) {
			t.Helper()
			record, err := dir.read()
			record.PID = 0
			if err != nil || dir.write(record) != nil {
				t.Fatal(err)
			}
		},
		"half written": func(t *testing.T, dir start) {
			t.Helper()
			if err := os.WriteFile(dir.record(), []byte(`{"pid": 1`), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"absent": func(t *testing.T, dir start) {
			t.Helper()
			if err := os.Remove(dir.record()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.options.KeepProxies = true
			old := r.keptEnvoy(t)
			starts := folders(filepath.Join(r.options.StateDir, "proxies", folderName(edge)))
			if len(starts) != 1 {
				t.Fatalf("starts %q", starts)
			}
			spoil(t, start(starts[0]))
			r.start(t, gateway(edge))
			waitGone(t, old)
			r.events.next(t, Ready)
			r.mustGet(t)
		})
	}
}

// TestReusedPIDIsNotTouched: a record names a pid that is another process by now.
func TestReusedPIDIsNotTouched(t *testing.T) {
	r := newRig(t)
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	dir := start(filepath.Join(r.options.StateDir, "proxies", folderName(edge), "0123abcd"))
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := dir.write(record{Gateway: edge, PID: os.Getpid(), StartTicks: 1, BootID: boot}); err != nil {
		t.Fatal(err)
	}
	r.start(t, gateway(edge))
	if ready := r.events.next(t, Ready); ready.PID == os.Getpid() {
		t.Errorf("event %+v: adopted ourselves", ready)
	}
	if _, err := os.Stat(string(dir)); !os.IsNotExist(err) {
		t.Errorf("the stale folder stays: %v", err)
	}
}
