package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/redis/server"
)

// TestReplicasGrantAtOnce: however many stores grant, no proxy carries more than it may.
func TestReplicasGrantAtOnce(t *testing.T) {
	s := server.Start(t, server.Options{})
	one, two := open(t, s.Address, ""), open(t, s.Address, "")
	tell(t, one)
	c := startCrawl(t, one, two)
	c.goesOn(500)
	c.empties(two)
	if len(c.overfull) > 0 || c.failed > 0 {
		t.Errorf("%d calls failed; more leases than %d: %v", c.failed, capacity, c.overfull)
	}
}

// TestRestart kills a server with an append-only file under load: calls say that it is
// away, and go on by themselves; what was granted still is.
func TestRestart(t *testing.T) {
	for _, program := range server.Programs {
		t.Run(string(program), func(t *testing.T) {
			s := server.Start(t, server.Options{Program: program, Args: []string{"--appendonly", "yes", "--appendfsync", "everysec"}})
			one, two := open(t, s.Address, ""), open(t, s.Address, "")
			tell(t, one)
			kept, err := one.Acquire(t.Context(), lease.Request{TTL: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			c := startCrawl(t, one, two)
			for range 2 {
				c.goesOn(200)
				s.Kill()
				c.suffers()
				s.Start(t)
				c.goesOn(200)
			}
			answers(t, two)
			if _, err := two.Renew(t.Context(), kept.ID, time.Hour); err != nil {
				t.Errorf("a lease did not outlive the restarts: %v", err)
			}
			if err := two.Release(t.Context(), kept.ID); err != nil {
				t.Error(err)
			}
			c.empties(two)
			if len(c.overfull) > 0 {
				t.Errorf("more leases than %d: %v", capacity, c.overfull)
			}
		})
	}
}

// TestHang stops a server in its tracks: a call says so after two seconds, and the lease
// that it is granted when the server goes on is ended, since nobody has it.
func TestHang(t *testing.T) {
	s := server.Start(t, server.Options{})
	store := open(t, s.Address, "")
	tell(t, store)
	s.Freeze()
	began := time.Now()
	_, err := store.Acquire(t.Context(), lease.Request{TTL: time.Hour})
	if took := time.Since(began); !errors.Is(err, lease.ErrUnavailable) || took > 20*time.Second {
		t.Errorf("%v after %s, must be unavailable within seconds", err, took)
	}
	s.Thaw()
	until(t, "the store answers and has no lease", func() bool {
		counts, err := store.Counts(t.Context())
		return err == nil && len(counts) == 0
	})
	if _, err := store.Acquire(t.Context(), lease.Request{TTL: time.Hour}); err != nil {
		t.Error(err)
	}
}

// TestEmptied loses all that a server has: who told of proxies tells again.
func TestEmptied(t *testing.T) {
	s := server.Start(t, server.Options{})
	leader, follower := open(t, s.Address, ""), open(t, s.Address, "")
	tell(t, leader)
	if err := leader.Remove(t.Context(), "0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "all proxies are there again", func() bool {
		_, err := follower.Acquire(t.Context(), lease.Request{TTL: time.Hour})
		counts, _ := follower.Counts(t.Context())
		return err == nil && len(counts) == proxies-1
	})
}
