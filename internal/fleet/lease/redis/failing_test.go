package redis_test

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/redis/server"
)

func tell(t *testing.T, store *redis.Store, n int) {
	t.Helper()
	for i := range n {
		p := lease.Proxy{
			UID: strconv.Itoa(i), Namespace: "crawl", Name: fmt.Sprint("p", i), Healthy: true, LatencyMillis: int64(i),
			Attributes: map[string]string{"n": strconv.Itoa(i), "of": "all"},
		}
		if err := store.Set(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

func acquire(t *testing.T, store *redis.Store, r lease.Request) lease.Lease {
	t.Helper()
	if r.TTL == 0 {
		r.TTL = time.Hour
	}
	got, err := store.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestServerRefuses says of a server that cannot keep leases why, and what to do.
func TestServerRefuses(t *testing.T) {
	for want, spoil := range map[string][]any{
		"READONLY":   {"REPLICAOF", "127.0.0.1", "1"},
		"OOM":        {"CONFIG", "SET", "maxmemory", "1"},
		"NOREPLICAS": {"CONFIG", "SET", "min-replicas-to-write", "1"},
		"WRONGTYPE":  {"SET", "{gatehouse}:due", "mine"},
		"NOAUTH":     {"CONFIG", "SET", "requirepass", "s3cret"},
	} {
		t.Run(want, func(t *testing.T) {
			s := server.Start(t, server.Options{})
			if err := s.Client().Do(t.Context(), spoil...).Err(); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, s, redis.Options{}, url.Values{}).Acquire(t.Context(), lease.Request{TTL: time.Minute})
			if !errors.Is(err, lease.ErrUnavailable) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), s.Address) {
				t.Errorf("%v, must be unavailable because of %s", err, want)
			}
		})
	}
}

// TestOutOfMemory: what frees memory goes on.
func TestOutOfMemory(t *testing.T) {
	s := server.Start(t, server.Options{})
	store := open(t, s, redis.Options{}, url.Values{})
	tell(t, store, 1)
	held := acquire(t, store, lease.Request{})
	if err := s.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := store.Release(t.Context(), held.ID); err != nil {
		t.Error(err)
	}
}

// TestForgottenScripts: a server that was restarted has no scripts.
func TestForgottenScripts(t *testing.T) {
	s := server.Start(t, server.Options{})
	store := open(t, s, redis.Options{}, url.Values{})
	tell(t, store, 1)
	acquire(t, store, lease.Request{})
	if err := s.Client().ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	acquire(t, store, lease.Request{})
}

// TestPassword takes the password from the URL or a file, and repeats it nowhere.
func TestPassword(t *testing.T) {
	s := server.Start(t, server.Options{})
	if err := s.Client().ConfigSet(t.Context(), "requirepass", "right one").Err(); err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]string{"right%20one": "", "wr0ng": "WRONGPASS"} {
		store, err := redis.Open(t.Context(), "redis://:"+password+"@"+s.Address, redis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Counts(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password)) {
			t.Errorf("%v, must be %q", err, want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCostOfFleet: however many proxies there are, the server does as much for a lease.
func TestCostOfFleet(t *testing.T) {
	cost := func(n int) int {
		s := server.Start(t, server.Options{})
		store := open(t, s, redis.Options{}, url.Values{})
		tell(t, store, n)
		r := lease.Request{Target: "t", Selector: lease.Selector{Attributes: map[string]string{"of": "all"}}}
		acquire(t, store, r)
		if err := s.Client().ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if err := store.Release(t.Context(), acquire(t, store, r).ID); err != nil {
				t.Fatal(err)
			}
		}
		return commands(t, s)
	}
	few, many := cost(10), cost(1000)
	if many > few+50 || many < 100 { // the store looks at its server each second
		t.Errorf("%d commands over 10 proxies, %d over 1000; must be as many", few, many)
	}
}

// commands are how many the server carried out, those of scripts too.
func commands(t *testing.T, s *server.Server) (sum int) {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if _, calls, ok := strings.Cut(line, ":calls="); ok {
			calls, _, _ = strings.Cut(calls, ",")
			n, err := strconv.Atoi(calls)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// TestManySelectors: indexes are bounded, and those that went are made again.
func TestManySelectors(t *testing.T) {
	s := server.Start(t, server.Options{})
	store := open(t, s, redis.Options{}, url.Values{})
	tell(t, store, 300)
	for range 2 {
		for i := range 300 {
			n := strconv.Itoa(i)
			got := acquire(t, store, lease.Request{Selector: lease.Selector{Attributes: map[string]string{"n": n}}})
			if got.Proxy.UID != n {
				t.Fatalf("%s for n=%s", got.Proxy.UID, n)
			}
		}
	}
	if n := s.Client().ZCard(t.Context(), "{gatehouse}:used").Val(); n != 256 {
		t.Errorf("%d indexes, must be 256", n)
	}
}

// TestManyEndAtOnce: more leases end than a script ends in one go, and all have.
func TestManyEndAtOnce(t *testing.T) {
	s := server.Start(t, server.Options{})
	var c clock
	store := open(t, s, redis.Options{Now: c.now}, url.Values{})
	tell(t, store, 3)
	for range 1000 {
		acquire(t, store, lease.Request{TTL: time.Minute, Session: "s"})
	}
	c.pass(time.Minute)
	if counts, err := store.Counts(t.Context()); err != nil || len(counts) != 0 {
		t.Errorf("%v, %v after all ended", counts, err)
	}
	c.pass(lease.CooldownWindow)
	if _, err := store.Counts(t.Context()); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"leases", "sessions", "due", "ended"} {
		if n := s.Client().Exists(t.Context(), "{gatehouse}:"+key).Val(); n != 0 {
			t.Errorf("%s is left after all were forgotten", key)
		}
	}
}

// TestRetain removes who went while nobody told of it.
func TestRetain(t *testing.T) {
	s := server.Start(t, server.Options{})
	store := open(t, s, redis.Options{}, url.Values{})
	tell(t, store, 5)
	if err := store.Retain(t.Context(), func(uid string) bool { return uid == "3" }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := acquire(t, store, lease.Request{}); got.Proxy.UID != "3" {
			t.Errorf("granted %s, which went", got.Proxy.Name)
		}
	}
}

// TestEvicted: a server that drops what it was told to keep does not stop those that come after.
func TestEvicted(t *testing.T) {
	s := server.Start(t, server.Options{})
	store := open(t, s, redis.Options{}, url.Values{})
	tell(t, store, 2)
	acquire(t, store, lease.Request{TTL: time.Second})
	if err := s.Client().Do(t.Context(), "DEL", "{gatehouse}:leases").Err(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); ; {
		use, err := store.Use(t.Context(), "0")
		if err != nil {
			t.Fatal(err)
		}
		due, err := s.Client().Do(t.Context(), "ZCARD", "{gatehouse}:due").Int()
		if err != nil {
			t.Fatal(err)
		}
		if due == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d leases are still due, %+v", due, use)
		}
		time.Sleep(50 * time.Millisecond)
	}
	acquire(t, store, lease.Request{})
}
