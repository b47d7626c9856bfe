package leasetest

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// testParallel: no proxy ever carries more leases than it may, as its clients see it.
func testParallel(t *testing.T, r Rig) {
	const proxies, clients, rounds = 4, 16, 50
	var held [proxies]atomic.Int64
	for i := range proxies {
		p := proxy(strconv.Itoa(i))
		p.Capacity = 2
		r.tell(t, p)
	}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range rounds {
				got, err := r.Store.Acquire(t.Context(), lease.Request{TTL: ttl})
				if _, full := errors.AsType[*lease.NoMatchError](err); full {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				i, _ := strconv.Atoi(got.Proxy.UID)
				if n := held[i].Add(1); n > 2 {
					t.Errorf("proxy %d has %d leases, at most 2", i, n)
				}
				held[i].Add(-1)
				if err := r.Store.Release(t.Context(), got.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	counts, err := r.Store.Counts(t.Context())
	must(t, err)
	if len(counts) != 0 {
		t.Errorf("counts %v after all were released", counts)
	}
}

// testParallelKey: however many repeat a request at once, one lease is granted.
func testParallelKey(t *testing.T, r Rig) {
	r.tell(t, proxy("1"), proxy("2"))
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			got, err := r.Store.Acquire(t.Context(), lease.Request{TTL: ttl, Key: "k"})
			if err != nil {
				t.Error(err)
			}
			ids[i] = got.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("leases %v, must be one", ids)
			break
		}
	}
}
