package lease

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkMemory is the workload of docs/benchmarks.md.
func BenchmarkMemory(b *testing.B) {
	store := benchStore(b)
	var clients atomic.Int64
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for i := int(clients.Add(1)) * 7919; pb.Next(); i++ {
			got, err := store.Acquire(b.Context(), benchRequest(i))
			if err != nil {
				b.Error(err)
				return
			}
			_ = store.Release(b.Context(), got.ID)
		}
	})
}

func benchRequest(i int) Request {
	return Request{
		Selector: Selector{Attributes: map[string]string{"group": strconv.Itoa(i % 20)}},
		Target:   fmt.Sprintf("t%d.example", i%50), TTL: time.Minute,
	}
}

// benchStore has 1,000 proxies of capacity 10 in 20 groups, 5 % of the pairs of proxy
// and target cooling.
func benchStore(b *testing.B) *Memory {
	store := NewMemory(Options{Now: time.Now})
	for i := range 1000 {
		p := Proxy{
			UID: strconv.Itoa(i), Namespace: "crawl", Name: fmt.Sprintf("p%d", i), LatencyMillis: int64(i * 31 % 97), Healthy: true,
			Capacity: 10, Attributes: map[string]string{"group": strconv.Itoa(i % 20)},
		}
		if err := store.Set(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		for target := range 50 {
			if (i/20*7+i+target)%20 == 0 {
				store.rests.begin(store.members[p.UID], fmt.Sprintf("t%d.example", target), time.Now(), store.Windows)
			}
		}
	}
	return store
}
