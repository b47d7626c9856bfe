package health

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
)

// fleet is an engine over proxies that answer as the test says.
type fleet struct {
	*Engine
	mu      sync.Mutex
	answers map[string]Result // by key
	probes  map[string]int
	emitted []string
	refuse  bool // emits are dropped
	flying  int
	most    int
	held    []bool
}

func (f *fleet) Probe(key string, _ Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.probes[key]++
}
func (f *fleet) Forget(key string)   { delete(f.probes, key) }
func (f *fleet) Suspended(held bool) { f.held = append(f.held, held) }

func newFleet(t *testing.T, inFlight int) *fleet {
	t.Helper()
	f := &fleet{answers: map[string]Result{}, probes: map[string]int{}}
	f.Engine = New(Options{
		InFlight: inFlight, Metrics: f,
		Emit: func(key string) bool {
			if f.refuse {
				return false
			}
			f.emitted = append(f.emitted, key)
			return true
		},
		Probe: func(_ context.Context, p Proxy) Result {
			f.mu.Lock()
			f.flying++
			f.most = max(f.most, f.flying)
			got, ok := f.answers[p.Key]
			f.mu.Unlock()
			if !ok {
				got = Result{Class: OK, Latency: 30 * time.Millisecond}
			}
			time.Sleep(got.Latency)
			f.mu.Lock()
			f.flying--
			f.mu.Unlock()
			return got
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { cancel(); run.Wait() })
	return f
}

var check = Check{URL: "https://probe.example/", Interval: 30 * time.Second, Timeout: 5 * time.Second, SuccessThreshold: 2, FailureThreshold: 3}

func (f *fleet) add(n int) {
	for i := range n {
		f.Set(Proxy{Key: key(i), UID: fmt.Sprintf("uid-%d", i), Instance: "a", Check: check}, time.Now())
	}
}

func key(i int) string { return fmt.Sprintf("crawl/p%d", i) }

func (f *fleet) answer(i int, r Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[key(i)] = r
}

func (f *fleet) healthy(t *testing.T, i int, want bool) {
	t.Helper()
	if got := f.snapshot(i); got == nil || got.Healthy != want {
		t.Errorf("%s: verdict %+v, want %v", key(i), got, want)
	}
}

// snapshot is what was last passed on of a proxy, nil before.
func (f *fleet) snapshot(i int) *lifecycle.Verdict {
	f.Engine.mu.Lock()
	defer f.Engine.mu.Unlock()
	if s := f.states[key(i)]; s != nil {
		return s.snapshot
	}
	return nil
}

func TestConstantLatencyIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(1000)
		time.Sleep(2 * time.Minute)
		if len(f.emitted) != 1000 {
			t.Fatalf("%d first verdicts of 1000", len(f.emitted))
		}
		time.Sleep(10 * time.Minute)
		if writes := len(f.emitted) - 1000; writes != 0 {
			t.Errorf("%d writes in ten idle minutes", writes)
		}
		if n := f.probes[key(7)]; n < 22 || n > 28 {
			t.Errorf("%d probes in 12 minutes, every 30 s", n)
		}
	})
}

func TestVerdictFlipsAtThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(1)
		time.Sleep(2 * time.Minute)
		f.healthy(t, 0, true)
		f.answer(0, Result{Class: Dial, Message: "refused"})
		time.Sleep(2 * time.Minute)
		f.healthy(t, 0, false)
		if got := f.snapshot(0); got.Reason != egress_v1alpha1.ReasonProbeFailed || got.Message != "refused" {
			t.Errorf("%+v", got)
		}
		f.answer(0, Result{Class: OK, Latency: time.Millisecond})
		time.Sleep(2 * time.Minute)
		f.healthy(t, 0, true)
		if len(f.emitted) != 3 {
			t.Errorf("%d writes for three verdicts", len(f.emitted))
		}
	})
}

func TestLatencyIsWrittenWhenItChangesALot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(1)
		time.Sleep(5 * time.Minute)
		for _, c := range []struct {
			latency time.Duration
			writes  int
		}{{45 * time.Millisecond, 0}, {90 * time.Millisecond, 1}, {130 * time.Millisecond, 0}, {20 * time.Millisecond, 1}} {
			before := len(f.emitted)
			f.answer(0, Result{Class: OK, Latency: c.latency})
			time.Sleep(5 * time.Minute)
			if got := len(f.emitted) - before; got != c.writes {
				t.Errorf("latency %s: %d writes, want %d", c.latency, got, c.writes)
			}
		}
	})
}

func TestWhatWasDroppedIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.refuse = true
		f.add(1)
		time.Sleep(5 * time.Minute)
		if f.snapshot(0) != nil {
			t.Error("a verdict that nobody was told of is shown")
		}
		f.refuse = false
		time.Sleep(time.Minute)
		f.healthy(t, 0, true)
	})
}

func TestHandoverKeepsTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.Set(Proxy{Key: key(0), UID: "uid", Check: check, Known: &Known{Healthy: true}}, time.Now())
		f.answer(0, Result{Class: Timeout})
		for f.probes[key(0)] < 2 {
			time.Sleep(time.Second)
		}
		if len(f.emitted) != 0 {
			t.Error("two failures flipped a verdict that was taken over")
		}
		time.Sleep(2 * time.Minute)
		f.healthy(t, 0, false)
	})
}

func TestAnotherInstanceBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(1)
		time.Sleep(5 * time.Minute)
		f.Set(Proxy{Key: key(0), UID: "uid-0", Instance: "b", Check: check}, time.Now())
		if f.snapshot(0) != nil {
			t.Error("the verdict on the former instance is shown for the new one")
		}
		f.Remove(key(0))
		time.Sleep(5 * time.Minute)
		if n := f.probes[key(0)]; n != 0 {
			t.Errorf("%d probes after the end", n)
		}
	})
}

func TestManyThatFailAtOnceKeepTheirVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(10)
		time.Sleep(2 * time.Minute)
		for i := range 10 {
			f.answer(i, Result{Class: Timeout})
		}
		time.Sleep(3 * time.Minute)
		for i := range 10 {
			f.healthy(t, i, true)
		}
		if len(f.held) == 0 || !f.held[0] {
			t.Errorf("suspended: %v", f.held)
		}
		// It is bounded: who lies for long is believed at last.
		time.Sleep(10 * time.Minute)
		f.healthy(t, 3, false)
	})
}

func TestProbesAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 4)
		for i := range 100 {
			f.answer(i, Result{Class: Timeout, Latency: 5 * time.Second})
		}
		f.add(100)
		time.Sleep(10 * time.Minute)
		if f.most != 4 {
			t.Errorf("%d at once, want 4", f.most)
		}
		for i := range 100 {
			if f.probes[key(i)] < 2 {
				t.Errorf("%s was probed %d times", key(i), f.probes[key(i)])
			}
		}
	})
}
