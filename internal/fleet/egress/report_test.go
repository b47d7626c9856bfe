package egress

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// plainly asks a target again and again by one connection of a client, and returns whom
// that sees, and the lease.
func (s *super) plainly(t *testing.T, home, user string) func() (source, id string) {
	p := s.dial(t)
	return func() (string, string) {
		t.Helper()
		r, body := p.send(request("GET", home+"/", basic(user, "x"))).answer("GET")
		if r.StatusCode != http.StatusOK {
			t.Fatalf("%s %q", r.Status, body)
		}
		source, _, _ := strings.Cut(body, " ")
		return source, r.Header.Get(LeaseHeader)
	}
}

func (w *world) report(id string) {
	w.t.Helper()
	if err := w.store.Report(w.t.Context(), id, lease.Banned, ""); err != nil {
		w.t.Fatal(err)
	}
}

// A session whose proxy was reported goes on by another one: new connections, and new
// requests of one that is kept. What is open goes on by the old lease, which is given back
// when that ends.
func TestASessionLeavesAReportedProxy(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	w.add("px-2", 12)
	s, to := w.start(), echo(t)
	home, _ := target(t)
	tunnel, r := s.connect(t, to, basic("session=a", "x"))
	tunnel.expect("127.0.0.11\n")
	ask := s.plainly(t, home, "session=a")
	if source, id := ask(); source != "127.0.0.11" || id != r.Header.Get(LeaseHeader) {
		t.Fatalf("from %s by another lease than the tunnel's", source)
	}
	w.report(r.Header.Get(LeaseHeader))
	eventually(t, "the session leaves", func() bool { source, _ := ask(); return source == "127.0.0.12" })
	if got := s.source(t, to, "session=a"); got != "127.0.0.12" {
		t.Errorf("a new tunnel is from %s", got)
	}
	tunnel.send("hello").expect("hello")
	if n := w.active(); n != 2 {
		t.Errorf("%d leases, of what is open and of the session", n)
	}
	_ = tunnel.Close()
	eventually(t, "the old lease is given back", func() bool { return w.active() == 1 })
	if all := s.Sessions(); len(all) != 1 || all[0].Proxy != "crawl/px-2" {
		t.Errorf("sessions %+v", all)
	}
}

// Without another proxy a session is told so, and keeps what is open.
func TestTheOnlyProxyIsReported(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s := w.start(func(c *Config) { c.Limits.Connect = 100 * time.Millisecond })
	tunnel, r := s.connect(t, echo(t), basic("session=a", "x"))
	tunnel.expect("127.0.0.11\n")
	w.report(r.Header.Get(LeaseHeader))
	home, _ := target(t)
	p := s.dial(t)
	eventually(t, "the session is refused", func() bool {
		r, body := p.send(request("GET", home+"/", basic("session=a", "x"))).answer("GET")
		return r.StatusCode == http.StatusServiceUnavailable && strings.Contains(body, "inCooldown=1") && r.Header.Get("Retry-After") != ""
	})
	tunnel.send("hello").expect("hello")
}

// A session whose lease somebody ended takes another one at the next request.
func TestASessionTakesAnotherLease(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s := w.start()
	home, _ := target(t)
	ask := s.plainly(t, home, "session=a")
	_, first := ask()
	if err := w.store.Release(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has another lease", func() bool { _, id := ask(); return id != first })
}

// A session costs the lease API one call a second, however many ask.
func TestASessionAsksOnceASecond(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s := w.start()
	home, _ := target(t)
	began := time.Now()
	var all sync.WaitGroup
	for range 8 {
		ask := s.plainly(t, home, "session=a")
		all.Go(func() {
			for w.renewed.Load() < 3 && time.Since(began) < patience {
				ask()
			}
		})
	}
	all.Wait()
	if n, took := w.renewed.Load(), time.Since(began); n < 3 || took < time.Duration(n)*time.Second {
		t.Errorf("%d renewals in %s", n, took)
	}
}

// A tunnel outlives its lease's first life also where others of its session have the
// lease renewed all the time.
func TestATunnelOfABusySession(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s := w.start()
	home, _ := target(t)
	const user = "session=a,ttl=2"
	tunnel, _ := s.connect(t, echo(t), basic(user, "x"))
	tunnel.expect("127.0.0.11\n")
	ask := s.plainly(t, home, user)
	for began := time.Now(); time.Since(began) < 5*time.Second; {
		ask()
		tunnel.send("x").expect("x")
	}
}

// While the lease API answers nothing, or not at all, a session goes on by the lease that
// it has.
func TestASessionWithoutTheLeaseAPI(t *testing.T) {
	over := make(chan struct{})
	for name, fails := range map[string]http.HandlerFunc{
		"fails": func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) },
		"hangs": func(http.ResponseWriter, *http.Request) { <-over },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add("px-1", 11)
			s := w.start()
			if name == "hangs" {
				defer close(over)
			}
			home, _ := target(t)
			ask := s.plainly(t, home, "session=a")
			_, first := ask()
			w.answer(fails)
			eventually(t, "the API is asked", func() bool { ask(); return w.renewed.Load() > 0 })
			for range 100 {
				if source, id := ask(); source != "127.0.0.11" || id != first {
					t.Fatalf("from %s by lease %s", source, id)
				}
			}
			w.answer(nil)
		})
	}
}
