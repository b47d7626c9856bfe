package lease

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// BenchmarkMemory is the workload of docs/benchmarks.md: 32 clients lease and give back.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []int{1000, 10_000} {
		for _, policy := range Policies() {
			b.Run(fmt.Sprintf("%d/%s", size, policy), func(b *testing.B) {
				store := benchStore(b, size, Options{Policy: policy})
				benchPairs(b, NewWaiting(store, WaitOptions{}), 32)
			})
		}
	}
}

// benchPairs has clients lease and give back b.N times in all, and reports how many pairs
// there were in a second and how long 99 in 100 took at most.
func benchPairs(b *testing.B, store Store, clients int) {
	b.Helper()
	took := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for c := range clients {
		wg.Go(func() {
			mine := make([]time.Duration, 0, b.N/clients+1)
			for i := c; i < b.N; i += clients {
				began := time.Now()
				got, err := store.Acquire(b.Context(), benchRequest(i))
				if err == nil {
					err = store.Release(b.Context(), got.ID)
				}
				if err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(began))
			}
			took[c] = mine
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(all[len(all)-1].Microseconds()), "max-µs")
}

var benchSelectors, benchTargets = benchWords()

func benchWords() (selectors []Selector, targets []string) {
	for i := range 20 {
		selectors = append(selectors, Selector{Attributes: map[string]string{"group": strconv.Itoa(i)}})
	}
	for i := range 50 {
		targets = append(targets, fmt.Sprintf("t%d.example", i))
	}
	return selectors, targets
}

func benchRequest(i int) Request {
	i *= 7919
	return Request{Selector: benchSelectors[i%20], Target: benchTargets[i/20%50], TTL: time.Minute}
}

// benchStore has proxies of capacity 10 in 20 groups, 5 % of the pairs of proxy and target
// cooling.
func benchStore(b *testing.B, size int, o Options) *Memory {
	b.Helper()
	store := NewMemory(o)
	for i := range size {
		p := benchProxy(i)
		if err := store.Set(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		for t, target := range benchTargets {
			if (i/20*7+i+t)%20 == 0 {
				store.rests.begin(store.members[p.UID], target, time.Now(), store.Windows)
			}
		}
	}
	return store
}

func benchProxy(i int) Proxy {
	return Proxy{
		UID: strconv.Itoa(i), Namespace: "crawl", Name: fmt.Sprintf("p%d", i), LatencyMillis: int64(i * 31 % 97), Healthy: true,
		Capacity: 10, Attributes: map[string]string{"group": strconv.Itoa(i % 20)},
	}
}

// BenchmarkSet is a change of one proxy of 10,000, each of which is in two pools: that of
// its group, and that of all.
func BenchmarkSet(b *testing.B) {
	for name, change := range map[string]func(*Proxy, int){
		"same":    func(*Proxy, int) {},
		"health":  func(p *Proxy, i int) { p.Healthy = i%2 == 0 },
		"latency": func(p *Proxy, i int) { p.LatencyMillis = int64(i * 31 % 97) },
	} {
		b.Run(name, func(b *testing.B) {
			store := benchStore(b, 10_000, Options{})
			for i := range 20 {
				_, _ = store.Acquire(b.Context(), benchRequest(i))
			}
			_, _ = store.Acquire(b.Context(), Request{TTL: time.Minute})
			i := 0
			for b.Loop() {
				p := benchProxy(i * 7919 % 10_000)
				change(&p, i)
				_ = store.Set(b.Context(), p)
				i++
			}
		})
	}
}

// BenchmarkRefusal is a request that nobody suits, of 10,000 proxies that are full.
func BenchmarkRefusal(b *testing.B) {
	store := benchStore(b, 10_000, Options{})
	for range 100_000 {
		if _, err := store.Acquire(b.Context(), Request{TTL: time.Minute}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := store.Acquire(b.Context(), Request{TTL: time.Minute}); err == nil {
			b.Fatal("granted")
		}
	}
}

// BenchmarkState is what a checkpoint takes of a store with 10,000 leases and as many that
// ended; the store is locked for the part that is called moment.
func BenchmarkState(b *testing.B) {
	store := benchStore(b, 1000, Options{})
	for range 20_000 {
		got, err := store.Acquire(b.Context(), Request{TTL: time.Minute})
		if err == nil && len(store.due) > 9000 {
			err = store.Release(b.Context(), got.ID)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("moment", func(b *testing.B) {
		for b.Loop() {
			store.moment()
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			store.State()
		}
	})
}
