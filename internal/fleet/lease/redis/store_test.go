package redis_test

import (
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/leasetest"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/redis/server"
)

// TestContract plays the contract of all stores to real servers.
func TestContract(t *testing.T) {
	for _, program := range server.Programs {
		t.Run(string(program), func(t *testing.T) {
			s := server.Start(t, server.Options{Program: program})
			fresh := func(t leasetest.T) leasetest.Rig { return rigOf(t, s) }
			leasetest.Run(t, fresh)
			leasetest.RunLimits(t, fresh)
		})
	}
}

var prefixes atomic.Int64

// open opens a store at a server.
func open(t leasetest.T, s *server.Server, o redis.Options, query url.Values) *redis.Store {
	t.Helper()
	store, err := redis.Open(t.Context(), "redis://"+s.Address+"?"+query.Encode(), o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return store
}

// clock is set by a test while the store looks at its server beside it.
type clock struct{ passed atomic.Int64 } // nanoseconds

func (c *clock) now() time.Time {
	return time.Unix(1_800_000_000, c.passed.Load()).UTC()
}

func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// rigOf is a store of its own, on a server that others use too.
func rigOf(t leasetest.T, s *server.Server) leasetest.Rig {
	var c clock
	o := redis.Options{Windows: lease.DefaultWindows(), Now: c.now}
	query := url.Values{"prefix": {fmt.Sprint("rig", prefixes.Add(1))}}
	return leasetest.Rig{
		Store: open(t, s, o, query), Windows: o.Windows, Now: o.Now, Pass: c.pass, Set: true,
		Reopen: func(t leasetest.T) lease.Store { return open(t, s, o, query) },
	}
}
