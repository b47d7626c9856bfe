package health

import (
	"context"
	"fmt"
	"slices"
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

func (f *fleet) Forget(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.probes, key)
}

func (f *fleet) Suspended(held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = append(f.held, held)
}

// told is what Suspended was, in turn.
func (f *fleet) told() []bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.held)
}

// writes are the keys that were passed on, in turn.
func (f *fleet) writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.emitted)
}

// refuses makes the shell refuse what it is told.
func (f *fleet) refuses(refuse bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = refuse
}

func newFleet(t *testing.T, inFlight int) *fleet {
	t.Helper()
	f := &fleet{answers: map[string]Result{}, probes: map[string]int{}}
	f.Engine = New(Options{
		InFlight: inFlight, Metrics: f,
		Emit: func(key string) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			if !f.refuse {
				f.emitted = append(f.emitted, key)
			}
			return !f.refuse
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
		f.Set(proxyOf(i), time.Now())
	}
}

func proxyOf(i int) Proxy {
	return Proxy{Key: key(i), UID: fmt.Sprintf("uid-%d", i), Instance: "a", Check: check}
}

// count is how often a proxy was probed.
func (f *fleet) count(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.probes[key(i)]
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
		if len(f.writes()) != 1000 {
			t.Fatalf("%d first verdicts of 1000", len(f.writes()))
		}
		time.Sleep(10 * time.Minute)
		if writes := len(f.writes()) - 1000; writes != 0 {
			t.Errorf("%d writes in ten idle minutes", writes)
		}
		if n := f.count(7); n < 22 || n > 28 {
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
		if len(f.writes()) != 3 {
			t.Errorf("%d writes for three verdicts", len(f.writes()))
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
			before := len(f.writes())
			f.answer(0, Result{Class: OK, Latency: c.latency})
			time.Sleep(5 * time.Minute)
			if got := len(f.writes()) - before; got != c.writes {
				t.Errorf("latency %s: %d writes, want %d", c.latency, got, c.writes)
			}
		}
	})
}

func TestWhatWasDroppedIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.refuses(true)
		f.add(1)
		time.Sleep(5 * time.Minute)
		if f.snapshot(0) != nil {
			t.Error("a verdict that nobody was told of is shown")
		}
		f.refuses(false)
		time.Sleep(time.Minute)
		f.healthy(t, 0, true)
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
		if n := f.count(0); n != 0 {
			t.Errorf("%d probes after the end", n)
		}
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
		f.mu.Lock()
		most := f.most
		f.mu.Unlock()
		if most != 4 {
			t.Errorf("%d at once, want 4", most)
		}
		for i := range 100 {
			if f.count(i) < 2 {
				t.Errorf("%s was probed %d times", key(i), f.count(i))
			}
		}
	})
}
