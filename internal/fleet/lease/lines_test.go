package lease_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// stranger hides what a store can tell of itself, as one does that knows only what its
// own process asked.
type stranger struct{ lease.Store }

// TestSharedStore: what another process frees is noticed soon, and what this one does
// at once.
func TestSharedStore(t *testing.T) {
	const every = 250 * time.Millisecond
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		here := lines{l.T, lease.NewWaiting(stranger{l.memory}, lease.WaitOptions{Every: every}), l.memory}
		held := l.hold(time.Hour)
		first := here.wait(l.Context(), lease.Request{}, lease.MaxWait)
		time.Sleep(10*time.Second + every/2)
		l.free(held.ID) // by another process
		time.Sleep(every)
		here.granted(first)
		second := here.wait(l.Context(), lease.Request{}, lease.MaxWait)
		began := time.Now()
		here.free(first.ID)
		if here.granted(second); time.Since(began) != 0 {
			l.Errorf("served after %v, must at once", time.Since(began))
		}
	})
}

// TestNobodyStarves: many wait for a few proxies, some hang up, others come and do not
// wait; all that stay are served in the order in which they came, and whenever nothing
// moves nobody waits for a proxy that suits.
func TestNobodyStarves(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 3, func(l lines) {
		var mu sync.Mutex
		served := map[uint64]int{} // by fence: the order in which they were granted
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				ctx, hangUp := context.WithCancel(l.Context())
				defer hangUp()
				if i%7 == 3 {
					time.AfterFunc(time.Duration(i%5)*time.Millisecond, hangUp)
				}
				got, err := l.AcquireWithin(ctx, lease.Request{TTL: time.Hour}, lease.MaxWait)
				if err != nil {
					return
				}
				mu.Lock()
				served[got.Fence] = i
				mu.Unlock()
				time.Sleep(time.Duration(1+i%3) * time.Millisecond)
				l.free(got.ID)
			})
			synctest.Wait()
			if i%10 == 9 {
				l.noneIdle()
				time.Sleep(time.Millisecond)
			}
			_, _ = l.AcquireWithin(l.Context(), lease.Request{TTL: time.Millisecond, Target: "other.example"}, 0)
		}
		wg.Wait()
		var order []int
		for _, fence := range slices.Sorted(maps.Keys(served)) {
			order = append(order, served[fence])
		}
		if len(order) < 200*6/7 || !slices.IsSorted(order) {
			l.Errorf("%d were served, in order %v", len(order), order)
		}
		time.Sleep(time.Millisecond)
	})
}

// noneIdle says that nobody waits for a proxy that is free.
func (l lines) noneIdle() {
	l.Helper()
	if synctest.Wait(); l.Waiters() == 0 {
		return
	}
	if got, err := l.memory.Acquire(l.Context(), lease.Request{TTL: time.Nanosecond}); err == nil {
		l.Fatalf("%s is free, and %d wait", got.Proxy.Name, l.Waiters())
	}
}
