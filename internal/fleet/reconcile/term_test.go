package reconcile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// term is the reconciler and an engine of probes over a world, put together as shells do:
// what the engine says makes a Proxy due, and what is written the engine is told.
type term struct {
	*testing.T
	w     *world
	r     *Reconciler
	e     *health.Engine
	due   map[string]chan struct{}
	drops bool // the shell takes nothing
	mu    sync.Mutex
}

// lead begins a term over the Proxies of w.
func lead(t *testing.T, w *world, probe func(string) health.Result) (*term, func()) {
	m := &term{T: t, w: w, r: w.reconciler(), due: map[string]chan struct{}{}}
	m.e = health.New(health.Options{Emit: m.emit, Probe: func(_ context.Context, p health.Proxy) health.Result {
		got := probe(p.Key)
		time.Sleep(got.Latency)
		return got
	}})
	m.r.Now, m.r.Health = time.Now, m.e
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for k, p := range w.proxies {
		m.due[k.String()] = make(chan struct{}, 1)
		m.tell(p.DeepCopy())
	}
	all.Go(func() { m.e.Run(ctx) })
	for k := range w.proxies {
		all.Go(func() { m.keep(ctx, k) })
	}
	return m, func() {
		cancel()
		all.Wait()
	}
}

func (m *term) emit(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drops {
		return false
	}
	select {
	case m.due[key] <- struct{}{}:
	default: // it is due already
	}
	return true
}

// tell is what shells do when a Proxy has changed.
func (m *term) tell(p *proxy) {
	if probed, there := health.FromProxy(p, offer.Of(p, nil), nil, "http://target.example/"); there {
		m.e.Set(probed, time.Now())
	} else {
		m.e.Remove(p.Namespace + "/" + p.Name)
	}
}

// keep reconciles one Proxy whenever it is due.
func (m *term) keep(ctx context.Context, k key) {
	for ctx.Err() == nil {
		result, err := m.r.Reconcile(ctx, k)
		if err != nil && ctx.Err() == nil {
			m.Errorf("%s: %v", k, err)
		}
		m.w.mu.Lock()
		p := m.w.proxies[k].DeepCopy()
		m.w.turn()
		m.w.mu.Unlock()
		m.tell(p)
		select {
		case <-ctx.Done():
		case <-m.due[k.String()]:
		case <-time.After(result.After):
		}
	}
}

// writes counts those of statuses since the last time.
func (m *term) writes() (n int) {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, call := range m.w.calls {
		if call == "patch status" {
			n++
		}
	}
	m.w.calls = nil
	return n
}

func fleetOfSize(n int) *world {
	w := newWorld()
	w.now = time.Now()
	for i := range n {
		w.add(fmt.Sprintf("p%04d", i))
	}
	return w
}

func (m *term) ready() {
	m.Helper()
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	for _, p := range m.w.proxies {
		if p.Status.Phase != egress_v1alpha1.PhaseReady {
			m.Fatalf("%s: %s", p.Name, describe(p))
		}
	}
}

func steadily(string) health.Result {
	return health.Result{Class: health.OK, Latency: 40 * time.Millisecond}
}

// TestTenIdleMinutesOfProbesWriteNothing, and neither does another leader, who takes over
// what is written.
func TestTenIdleMinutesOfProbesWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fleetOfSize(200)
		m, end := lead(t, w, steadily)
		time.Sleep(2 * time.Minute)
		m.ready()
		m.writes()
		for range 2 {
			time.Sleep(10 * time.Minute)
			m.ready()
			if n := m.writes(); n != 0 {
				t.Errorf("%d writes of statuses, for %v", n, m.e.Writes())
			}
			end()
			m, end = lead(t, w, steadily)
		}
		end()
	})
}

// jittery is a target whose latency changes, and what the rule of the seed makes of it,
// told again in the simplest way.
type jittery struct {
	mu       sync.Mutex
	random   *rand.Rand
	reported map[string]time.Duration
	at       map[string]time.Time
	good     map[string]int
	expected int
	busy     time.Time // until the last probe is over
}

// quiet waits for a moment without a probe, and returns how many writes the rule demanded
// until then.
func (j *jittery) quiet() int {
	for {
		synctest.Wait()
		j.mu.Lock()
		expected, busy := j.expected, !time.Now().After(j.busy)
		j.mu.Unlock()
		if !busy {
			return expected
		}
		time.Sleep(time.Millisecond)
	}
}

func (j *jittery) probe(key string) health.Result {
	j.mu.Lock()
	defer j.mu.Unlock()
	latency := 40*time.Millisecond + time.Duration(j.random.IntN(15))*time.Millisecond
	if j.random.IntN(10) == 0 {
		latency += 100 * time.Millisecond
	}
	j.good[key]++
	now := time.Now().Add(latency) // when it ends
	if now.After(j.busy) {
		j.busy = now
	}
	step, old := (latency - j.reported[key]).Abs(), j.reported[key]
	first := j.good[key] == 2 // as many as make a verdict
	if first || j.good[key] > 2 && step > 20*time.Millisecond && 2*step > old && now.Sub(j.at[key]) >= time.Minute {
		j.reported[key], j.at[key] = latency, now
		j.expected++
	}
	return health.Result{Class: health.OK, Latency: latency}
}

// TestAJitteryTargetIsWrittenAsTheRuleSays: neither less nor more, each write for a cause
// that is counted.
func TestAJitteryTargetIsWrittenAsTheRuleSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &jittery{random: rand.New(rand.NewPCG(1, 2)), reported: map[string]time.Duration{}, at: map[string]time.Time{}, good: map[string]int{}}
		m, end := lead(t, fleetOfSize(200), j.probe)
		defer end()
		time.Sleep(2 * time.Minute)
		m.ready()
		expected := j.quiet()
		m.writes()
		before := m.e.Writes()
		time.Sleep(10 * time.Minute)
		want := j.quiet() - expected
		n, after := m.writes(), m.e.Writes()
		if n != want || after[health.LatencyChange]-before[health.LatencyChange] != n || want == 0 {
			t.Errorf("%d writes, the rule demands %d; causes %v, before %v", n, want, after, before)
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		m.w.mu.Lock()
		defer m.w.mu.Unlock()
		for k, p := range m.w.proxies {
			if p.Status.LatencyMillis != j.reported[k.String()].Milliseconds() {
				t.Errorf("%s: %d ms, reported %s", k, p.Status.LatencyMillis, j.reported[k.String()])
			}
		}
	})
}

// TestWhatAShellDropsIsWrittenLater, once each.
func TestWhatAShellDropsIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		latency := 40 * time.Millisecond
		m, end := lead(t, fleetOfSize(100), func(string) health.Result {
			mu.Lock()
			defer mu.Unlock()
			return health.Result{Class: health.OK, Latency: latency}
		})
		defer end()
		time.Sleep(2 * time.Minute)
		m.ready()
		m.writes()
		set := func(drops bool, d time.Duration) {
			m.mu.Lock()
			m.drops = drops
			m.mu.Unlock()
			mu.Lock()
			latency = d
			mu.Unlock()
		}
		set(true, 400*time.Millisecond)
		time.Sleep(5 * time.Minute)
		if n := m.writes(); n != 0 {
			t.Errorf("%d writes of what was dropped", n)
		}
		set(false, 400*time.Millisecond)
		time.Sleep(time.Minute)
		if n := m.writes(); n != 100 {
			t.Errorf("%d writes for 100 latencies", n)
		}
	})
}
