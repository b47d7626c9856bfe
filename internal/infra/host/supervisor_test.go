package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func TestServesAGateway(t *testing.T) {
	r := newRig(t)
	s := r.start(t, gateway(edge))
	started := r.events.next(t, Started)
	ready := r.events.next(t, Ready)
	if started.PID != ready.PID || started.Node != ready.Node || !strings.HasPrefix(started.Node, "shop/edge/") {
		t.Errorf("started %+v, ready %+v", started, ready)
	}
	if body := r.mustGet(t); body != "hello" || r.ads.sent.Load() != 1 {
		t.Errorf("answer %q after %d resources", body, r.ads.sent.Load())
	}
	if warming, err := s.WarmingListeners(t.Context(), edge); err != nil || warming != 0 {
		t.Errorf("%d listeners are warming, error %v", warming, err)
	}
	proxies := s.proxies()
	if len(proxies) != 1 || proxies[0].PID != ready.PID || !proxies[0].Ready || proxies[0].Adopted || proxies[0].Restarts != 0 {
		t.Errorf("proxies %+v", proxies)
	}
	if recorded := ReadRecords(r.options.StateDir); len(recorded) != 1 || recorded[0] != (Recorded{edge, ready.PID, proxies[0].AdminSocket}) {
		t.Errorf("recorded %+v, want what runs: %+v", recorded, proxies)
	}
	for _, path := range []string{proxies[0].AdminSocket, filepath.Join(string(s.launcher.dir(edge)), filepath.Base(ready.Node), "bootstrap.json")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, error %v; want mode 0600", path, info.Mode(), err)
		}
	}
	if log, err := os.ReadFile(proxies[0].Log); err != nil || len(log) > 0 {
		t.Errorf("our bootstrap makes Envoy complain (error %v):\n%s", err, log)
	}
}

func TestStopLeavesNothing(t *testing.T) {
	r := newRig(t)
	s := r.start(t, gateway(edge))
	pid := r.events.next(t, Ready).PID
	stop(t, s)
	if e := r.events.next(t, Exited); e.PID != pid || e.Err != nil || e.Again {
		t.Errorf("event %+v, want a wanted end of %d", e, pid)
	}
	if alive(pid) {
		t.Errorf("envoy %d runs on", pid)
	}
	if left := folders(string(s.launcher.dir(edge))); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if recorded := ReadRecords(r.options.StateDir); len(recorded) > 0 {
		t.Errorf("recorded %+v, want nothing", recorded)
	}
	if left, _ := filepath.Glob(filepath.Join(s.launcher.sockets, "*-*.sock")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	s.Ensure([]model.Gateway{gateway(edge)})
	if _, err := s.WarmingListeners(t.Context(), edge); !errors.Is(err, ErrNotRunning) {
		t.Errorf("error %v after Stop, want ErrNotRunning", err)
	}
}

func TestKilledEnvoyIsBackAtOnce(t *testing.T) {
	r := newRig(t)
	s := r.start(t, gateway(edge))
	first := r.events.next(t, Ready)
	load := r.traffic(t)
	load.reach(t, 10)
	killed := time.Now()
	if err := unix.Kill(first.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	exited := r.events.next(t, Exited)
	failure, ok := errors.AsType[*ExitError](exited.Err)
	if !ok || failure.Signal != unix.SIGKILL || failure.PID != first.PID || !exited.Again || exited.Restart != 0 {
		t.Errorf("event %+v, want a restart after SIGKILL", exited)
	}
	started := r.events.next(t, Started)
	noticed := time.Since(killed)
	second := r.events.next(t, Ready)
	t.Logf("started again after %s, ready after %s", noticed.Round(time.Millisecond), time.Since(killed).Round(time.Millisecond))
	if second.PID == first.PID || second.Node == first.Node || second.PID != started.PID {
		t.Errorf("first %+v, second %+v", first, second)
	}
	r.mustGet(t)
	if requests, failed, _ := load.stop(); failed == 0 {
		t.Errorf("%d requests, none failed: the load did not see the end of the first", requests)
	}
	if p := s.proxies(); len(p) != 1 || p[0].Restarts != 1 {
		t.Errorf("proxies %+v, want one restart", p)
	}
}

// TestChangedListenerLosesNothing: the drain flags ask connections of a changed
// filter chain to close, and cut none.
func TestChangedListenerLosesNothing(t *testing.T) {
	r := newRig(t)
	r.start(t, gateway(edge))
	r.events.next(t, Ready)
	load := r.traffic(t)
	for i := range 10 {
		body := fmt.Sprintf("version %d", i)
		r.ads.server.Publish(xdsserve.Update{Set: []resource{httpListener("web", r.address, direct(body))}})
		eventually(t, body+" is served", func() bool { return r.mustGet(t) == body })
		load.reach(t, load.requests.Load()+20)
	}
	if requests, failed, first := load.stop(); failed > 0 {
		t.Errorf("%d of %d requests failed: %v", failed, requests, first)
	}
}

func TestRequestInFlightSurvivesStop(t *testing.T) {
	r := newSlowRig(t, 400*time.Millisecond)
	s := r.start(t, gateway(edge))
	r.events.next(t, Ready)
	answer := make(chan error, 1)
	go func() {
		_, err := get(t.Context(), r.url())
		answer <- err
	}()
	p, err := s.running(edge)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request has arrived", func() bool {
		load, err := p.admin.load(t.Context())
		return err == nil && load.busy > 0
	})
	began := time.Now()
	stop(t, s)
	if err := <-answer; err != nil {
		t.Errorf("the request failed: %v", err)
	}
	if took := time.Since(began); took > r.options.withDefaults().DrainTimeout {
		t.Errorf("the stop took %s, longer than the request", took)
	}
}

// TestIdleConnectionDoesNotHoldUpStop: a browser keeps its connection for as long as it likes.
func TestIdleConnectionDoesNotHoldUpStop(t *testing.T) {
	r := newRig(t)
	s := r.start(t, gateway(edge))
	r.events.next(t, Ready)
	kept := &http.Client{Transport: &http.Transport{}}
	defer kept.CloseIdleConnections()
	if _, err := getWith(t.Context(), kept, r.url()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	stop(t, s)
	if took := time.Since(began); took < drainQuiet || took >= r.options.withDefaults().DrainTimeout {
		t.Errorf("the stop took %s", took)
	}
}

func TestStopWithoutTimeEndsAtOnce(t *testing.T) {
	r := newSlowRig(t, patience)
	s := r.start(t, gateway(edge))
	pid := r.events.next(t, Ready).PID
	answer := make(chan error, 1)
	go func() {
		_, err := get(t.Context(), r.url())
		answer <- err
	}()
	began := time.Now()
	stopNow(t, s)
	if took := time.Since(began); alive(pid) || took >= r.options.withDefaults().DrainTimeout {
		t.Errorf("the stop took %s, envoy alive: %t", took, alive(pid))
	}
	if err := <-answer; err == nil {
		t.Error("a request that takes longer than the stop was answered")
	}
}

func TestSettingsReachTheProxy(t *testing.T) {
	r := newRig(t)
	g := gateway(edge)
	s := r.start(t, g)
	first := r.events.next(t, Ready)

	g.Settings.LogLevel = "debug"
	s.Ensure([]model.Gateway{g})
	p, err := s.running(edge)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log level is debug", func() bool {
		levels, err := p.admin.call(t.Context(), "POST", "/logging")
		return err == nil && strings.Contains(string(levels), "http: debug")
	})
	if got := s.proxies()[0].PID; got != first.PID {
		t.Errorf("a log level restarted the proxy: %d, before %d", got, first.PID)
	}

	g.Settings.Concurrency = 2
	began := time.Now()
	s.Ensure([]model.Gateway{g})
	second := r.events.next(t, Ready)
	t.Logf("replaced in %s", time.Since(began).Round(time.Millisecond))
	stats, err := p.admin.stats(t.Context(), "^server.concurrency$")
	if err == nil {
		t.Errorf("the first process still answers: %v", stats)
	}
	if p, err = s.running(edge); err != nil {
		t.Fatal(err)
	}
	if stats, err = p.admin.stats(t.Context(), "^server.concurrency$"); err != nil || stats["server.concurrency"] != 2 {
		t.Errorf("concurrency %v, error %v, want 2", stats, err)
	}
	waitGone(t, first.PID)
	if body := r.mustGet(t); second.PID == first.PID || body != "hello" {
		t.Errorf("second %+v answers %q", second, body)
	}
}

func TestGatewaysComeAndGo(t *testing.T) {
	r := newRig(t)
	s := r.start(t, gateway(edge))
	first := r.events.next(t, Ready)
	s.Ensure(nil)
	if e := r.events.next(t, Exited); e.PID != first.PID || e.Err != nil {
		t.Errorf("event %+v", e)
	}
	eventually(t, "the folder is gone", func() bool {
		_, err := os.Stat(string(s.launcher.dir(edge)))
		return os.IsNotExist(err)
	})
	s.Ensure([]model.Gateway{gateway(edge)})
	s.Ensure(nil)
	s.Ensure([]model.Gateway{gateway(edge)})
	eventually(t, "it serves again", func() bool {
		p := s.proxies()
		return len(p) == 1 && p[0].Ready
	})
	if body := r.mustGet(t); body != "hello" {
		t.Errorf("answer %q", body)
	}
}

func TestStateDirectoryBelongsToOne(t *testing.T) {
	r := newRig(t)
	r.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := New(ctx, r.options)
	if err == nil || !strings.Contains(err.Error(), "in use by process") || !strings.Contains(err.Error(), "--state-dir") {
		t.Errorf("error %v", err)
	}
}
