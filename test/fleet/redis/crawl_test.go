package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
)

const (
	proxies  = 8
	capacity = 3
	patience = 60 * time.Second
)

// open opens a store of the prefix "t".
func open(t *testing.T, address, more string) *redis.Store {
	t.Helper()
	s, err := redis.Open(t.Context(), "redis://"+address+"?prefix=t"+more, redis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func proxy(i int) lease.Proxy {
	return lease.Proxy{
		UID: strconv.Itoa(i), Namespace: "crawl", Name: fmt.Sprint("p", i), Instance: "i", Address: "192.0.2.1", Healthy: true, Capacity: capacity,
	}
}

func tell(t *testing.T, s *redis.Store) {
	t.Helper()
	for i := range proxies {
		if err := s.Set(t.Context(), proxy(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// crawl is clients of several stores, each with a lease at a time.
type crawl struct {
	t       *testing.T
	stores  []*redis.Store
	ctx     context.Context
	stop    context.CancelFunc
	clients sync.WaitGroup

	mu       sync.Mutex
	held     map[string]lease.Lease // that were granted and not given back, by ID
	perhaps  []string               // given back, but nobody said so
	granted  int
	failed   int    // calls without an answer
	fence    uint64 // the highest
	overfull []string
}

func startCrawl(t *testing.T, stores ...*redis.Store) *crawl {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &crawl{t: t, stores: stores, ctx: ctx, stop: stop, held: map[string]lease.Lease{}}
	for i := range 12 {
		c.clients.Go(func() { c.client(stores[i%len(stores)], i) })
	}
	t.Cleanup(c.end)
	return c
}

// end ends the clients, who keep the leases that they have.
func (c *crawl) end() {
	c.stop()
	c.clients.Wait()
}

func (c *crawl) client(s *redis.Store, i int) {
	for c.ctx.Err() == nil {
		got, err := s.Acquire(c.ctx, lease.Request{Target: fmt.Sprint("t", i, ".example"), TTL: lease.MaxTTL})
		if !c.took(got, err) {
			continue
		}
		if c.gives(got) {
			c.gave(got, s.Release(c.ctx, got.ID))
		}
	}
}

// took notes what came of asking for a lease.
func (c *crawl) took(got lease.Lease, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, full := errors.AsType[*lease.NoMatchError](err)
	switch {
	case full || c.ctx.Err() != nil && err != nil:
		return false
	case errors.Is(err, lease.ErrUnavailable):
		c.failed++
		return false
	case err != nil:
		c.t.Errorf("acquire: %v", err)
		return false
	}
	c.held[got.ID] = got
	c.granted++
	c.fence = max(c.fence, got.Fence)
	if n := c.carries(got.Proxy.UID); n > capacity {
		c.overfull = append(c.overfull, fmt.Sprintf("%s with %d", got.Proxy.Name, n))
	}
	return true
}

// gives says whether a client gives a lease back; at the end it keeps it.
func (c *crawl) gives(l lease.Lease) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	delete(c.held, l.ID)
	return true
}

// gave notes what came of giving one back.
func (c *crawl) gave(l lease.Lease, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(err, lease.ErrUnavailable):
		c.failed++
		c.perhaps = append(c.perhaps, l.ID)
	default:
		c.t.Errorf("release: %v", err)
	}
}

func (c *crawl) carries(uid string) (n int) {
	for _, l := range c.held {
		if l.Proxy.UID == uid {
			n++
		}
	}
	return n
}

// counts are how many were granted, and how many calls had no answer.
func (c *crawl) counts() (granted, failed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granted, c.failed
}

// goesOn waits for that many more grants.
func (c *crawl) goesOn(more int) {
	c.t.Helper()
	before, _ := c.counts()
	until(c.t, "more leases are granted", func() bool { now, _ := c.counts(); return now >= before+more })
}

// suffers waits until calls have no answer.
func (c *crawl) suffers() {
	c.t.Helper()
	_, before := c.counts()
	until(c.t, "calls have no answer", func() bool { _, now := c.counts(); return now > before })
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for tick := time.Tick(10 * time.Millisecond); !is(); <-tick {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s until %s had passed", what, patience)
		}
	}
}

// answers waits until a store does: it looks each second whether it can connect again.
func answers(t *testing.T, s *redis.Store) {
	t.Helper()
	until(t, "the store answers", func() bool {
		_, err := s.Counts(t.Context())
		return err == nil
	})
}

// empties gives all leases back, and waits until the store has none: each that was ever
// granted is accounted for.
func (c *crawl) empties(s *redis.Store) {
	c.t.Helper()
	c.end()
	answers(c.t, s)
	for _, id := range slices.AppendSeq(c.perhaps, maps.Keys(c.held)) {
		if err := s.Release(c.t.Context(), id); err != nil {
			c.t.Errorf("release: %v", err)
		}
	}
	until(c.t, "no lease is left", func() bool {
		counts, err := s.Counts(c.t.Context())
		return err == nil && len(counts) == 0
	})
}
