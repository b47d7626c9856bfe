package reconcile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// steady is a target of constant latency: its verdict is the same at every probe.
type steady struct{ at time.Time }

func (steady) Doubtful() bool { return false }

func (steady) Probed(*proxy) bool { return true }

func (s steady) Snapshot(*proxy) (Verdict, bool) {
	return Verdict{Healthy: true, Reason: egress_v1alpha1.ReasonProbeOK, Message: "204", LatencyMillis: 40, At: s.at}, true
}

// TestTenIdleMinutesOfAThousandProxiesWriteNothing runs three workers over a thousand
// Proxies that run and are healthy, each looked at when its last pass said, in synthetic
// time: the only calls are one look at each instance a minute.
func TestTenIdleMinutesOfAThousandProxiesWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.now = time.Now()
		r := w.reconciler()
		r.Now, r.Health = time.Now, steady{time.Now()}
		for i := range 1000 {
			w.add(fmt.Sprintf("p%04d", i))
		}
		passes(t, w, r, 2*time.Minute, time.Second)
		w.calls = nil
		passes(t, w, r, 10*time.Minute, 0)
		counts := map[string]int{}
		for _, call := range w.calls {
			verb, _, _ := strings.Cut(call, " ")
			counts[verb]++
		}
		for _, p := range w.proxies {
			if p.Status.Phase != egress_v1alpha1.PhaseReady {
				t.Fatalf("%s: %s", p.Name, describe(p))
			}
		}
		if looks := counts["get"]; len(counts) != 2 || counts["proxy"] != looks || looks < 9_000 || looks > 11_000 {
			t.Errorf("calls %v, want about 10,000 looks and no other", counts)
		}
	})
}

// passes lets each Proxy be reconciled again and again, three at once, each when its
// last pass said; instances take a turn that often.
func passes(t *testing.T, w *world, r *Reconciler, length, turn time.Duration) {
	keys := slices.Collect(maps.Keys(w.proxies))
	workers := make(chan struct{}, 3)
	end := time.Now().Add(length)
	var all sync.WaitGroup
	for _, key := range keys {
		all.Go(func() {
			for time.Now().Before(end) {
				workers <- struct{}{}
				result, err := r.Reconcile(t.Context(), key)
				<-workers
				if err != nil || result.After == 0 {
					t.Errorf("%s: after %s, %v", key, result.After, err)
					return
				}
				time.Sleep(result.After)
			}
		})
	}
	for turn > 0 && time.Now().Before(end) {
		time.Sleep(turn)
		w.mu.Lock()
		w.turn()
		w.mu.Unlock()
	}
	all.Wait()
}

// TestAThousandCreatedAtOnceUnderALimit: with twenty requests a second, three workers
// have a thousand Proxies running within ten minutes, each with one instance.
func TestAThousandCreatedAtOnceUnderALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		r := w.reconciler()
		r.Now = time.Now
		r.Providers = map[string]provider.Provider{"process": provider.Limited(cloud{w}, 20)}
		for i := range 1000 {
			w.add(fmt.Sprintf("p%04d", i))
		}
		passes(t, w, r, 8*time.Minute, time.Second)
		running := 0
		for _, p := range w.proxies {
			if p.Status.Phase == egress_v1alpha1.PhaseProvisioned && len(w.live(p.UID)) == 1 {
				running++
			}
		}
		if running != 1000 || len(w.instances) != 1000 {
			t.Errorf("%d run, %d instances", running, len(w.instances))
		}
	})
}

// TestPassesOfOneFleetMayRunAtOnce: two Proxies that ask for the last place of the budget
// at once do not both get it.
func TestPassesOfOneFleetMayRunAtOnce(t *testing.T) {
	w := newWorld()
	r := w.reconciler()
	var keys []types.NamespacedName
	for i := range 8 {
		key := w.add(fmt.Sprint("p", i))
		w.until(t, r, key, egress_v1alpha1.PhaseProvisioned)
		w.edit(key, func(p *proxy) { p.Spec.Endpoint = &egress_v1alpha1.Endpoint{Port: 8080} })
		keys = append(keys, key)
	}
	var all sync.WaitGroup
	for _, key := range keys {
		all.Go(func() {
			if _, err := r.Reconcile(t.Context(), key); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	draining := slices.Collect(func(yield func(string) bool) {
		for _, p := range w.proxies {
			if lifecycle.Is(p, egress_v1alpha1.Draining) && !yield(p.Name) {
				return
			}
		}
	})
	if len(draining) != 1 {
		t.Errorf("%q go at once, want one of eight", draining)
	}
}
