package redis_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/redis/server"
)

// pair is a master with a replica, behind one address.
type pair struct {
	master, replica *server.Server
	front           *front
}

func startPair(t *testing.T) pair {
	t.Helper()
	master := server.Start(t, server.Options{})
	host, port, err := net.SplitHostPort(master.Address)
	if err != nil {
		t.Fatal(err)
	}
	replica := server.Start(t, server.Options{Args: []string{"--replicaof", host + " " + port}})
	until(t, "the replica follows", func() bool {
		n, err := master.Client().Do(t.Context(), "WAIT", 1, 100).Int()
		return err == nil && n == 1 && master.Client().Incr(t.Context(), "probe").Err() == nil
	})
	return pair{master, replica, newFront(t, master.Address)}
}

// promote makes the replica a master. What the other one does from here is lost when
// clients leave it.
func (p pair) promote(t *testing.T) {
	t.Helper()
	if err := p.replica.Client().Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
}

// TestFailover: leases of the last moments may be lost, and then as many more may be
// granted; nothing else is.
func TestFailover(t *testing.T) {
	p := startPair(t)
	address := p.front.Addr().String()
	one, two := open(t, address, ""), open(t, address, "")
	tell(t, one)
	until(t, "the replica has all proxies", func() bool {
		n, err := p.replica.Client().SCard(t.Context(), "{t}:members").Result()
		return err == nil && n == proxies
	})
	safe := take(t, one)
	if n, err := p.master.Client().Do(t.Context(), "WAIT", 1, 10_000).Int(); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	c := startCrawl(t, one, two)
	c.goesOn(200)
	p.promote(t)
	lost := take(t, two)
	last := proxy(proxies)
	if err := one.Set(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	p.master.Kill()
	c.suffers()
	p.front.turn(p.replica.Address)
	c.goesOn(200)
	answers(t, two)
	if _, err := two.Renew(t.Context(), safe.ID, time.Hour); err != nil {
		t.Errorf("a lease that the replica had: %v", err)
	}
	if _, err := two.Renew(t.Context(), lost.ID, time.Hour); !errors.Is(err, lease.ErrUnknown) {
		t.Errorf("a lease that it had not: %v, must be unknown", err)
	}
	if next := take(t, two); next.Fence <= max(lost.Fence, safe.Fence) {
		t.Errorf("fence %d after %d", next.Fence, lost.Fence)
	} else if err := two.Release(t.Context(), next.ID); err != nil {
		t.Error(err)
	}
	until(t, "the proxy that was told last is told again", func() bool {
		n, err := p.replica.Client().SCard(t.Context(), "{t}:members").Result()
		return err == nil && n == proxies+1
	})
	if err := two.Release(t.Context(), safe.ID); err != nil {
		t.Error(err)
	}
	allowed(t, c, two, lost)
	c.empties(two)
}

func take(t *testing.T, s *redis.Store) lease.Lease {
	t.Helper()
	var got lease.Lease
	until(t, "a lease is granted", func() (is bool) {
		var err error
		got, err = s.Acquire(t.Context(), lease.Request{TTL: time.Hour})
		return err == nil
	})
	return got
}

// allowed compares what clients have with what the store knows of: no proxy carries more
// than its capacity of leases that are not lost.
func allowed(t *testing.T, c *crawl, s *redis.Store, lost lease.Lease) {
	t.Helper()
	c.end()
	carries, missing := map[string]int{}, 0
	for id, l := range c.held {
		switch _, err := s.Renew(t.Context(), id, time.Hour); {
		case err == nil:
			carries[l.Proxy.UID]++
		case errors.Is(err, lease.ErrUnknown):
			missing++
		default:
			t.Errorf("renew: %v", err)
		}
	}
	for uid, n := range carries {
		if n > capacity {
			t.Errorf("proxy %s carries %d leases, at most %d", uid, n, capacity)
		}
	}
	t.Logf("%d granted, %d calls failed, of %d leases held %d were lost beside %s", c.granted, c.failed, len(c.held), missing, lost.ID)
}

// TestFailoverConfirmed: with wait-replicas no lease is lost, and none is granted that
// the replica does not have.
func TestFailoverConfirmed(t *testing.T) {
	p := startPair(t)
	store := open(t, p.front.Addr().String(), "&wait-replicas=1")
	tell(t, store)
	var held []lease.Lease
	for range proxies {
		held = append(held, take(t, store))
	}
	p.promote(t)
	_, err := store.Acquire(t.Context(), lease.Request{TTL: time.Hour})
	if !errors.Is(err, lease.ErrUnavailable) {
		t.Errorf("%v, must be unavailable: no replica has it", err)
	}
	until(t, "the lease that nobody confirmed is no more", func() bool {
		n, err := p.master.Client().ZCard(t.Context(), "{t}:due").Result()
		return err == nil && int(n) == len(held)
	})
	p.master.Kill()
	p.front.turn(p.replica.Address)
	promoted := open(t, p.replica.Address, "") // has no replica to wait for
	for _, l := range held {
		if _, err := promoted.Renew(t.Context(), l.ID, time.Hour); err != nil {
			t.Errorf("a lease that was granted: %v", err)
		}
	}
}
