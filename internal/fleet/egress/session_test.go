package egress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/proxy"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/hop"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/session"
)

// source asks who the target sees, by a tunnel.
func (s *super) source(t testing.TB, to, user string) string {
	t.Helper()
	p, _ := s.connect(t, to, basic(user, "x"))
	line, err := p.in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Connections of a session go by one proxy and share one lease, also by another
// super-proxy; those without a session go by whichever has the fewest leases.
func TestASessionKeepsItsProxy(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.add(fmt.Sprintf("px-%d", i), 11+i)
	}
	one, other, to := w.start(), w.start(), echo(t)
	first := one.source(t, to, "session=abc")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := one.source(t, to, "session=abc"); got != first {
				t.Errorf("from %s, and before from %s", got, first)
			}
		})
	}
	all.Wait()
	if got := other.source(t, to, "session=abc"); got != first {
		t.Errorf("another super-proxy goes by %s", got)
	}
	if n := w.active(); n != 2 {
		t.Errorf("%d leases of one session at two super-proxies", n)
	}
	seen := map[string]bool{}
	for range 4 {
		seen[one.source(t, to, "-")] = true
	}
	if len(seen) < 4 {
		t.Errorf("without a session: %v", seen)
	}
	if all := one.Sessions(); len(all) != 1 || all[0].Session != "abc" || all[0].Uses != 21 || all[0].Target != "127.0.0.1" {
		t.Errorf("sessions %+v", all)
	}
	one.end()
	other.end()
	if n := w.active(); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// A session whose proxy has died goes on by another one, in the request that notices.
func TestASessionSurvivesItsProxy(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	w.add("px-2", 12)
	s, to := w.start(), echo(t)
	home, _ := target(t)
	if got := s.source(t, to, "session=a"); got != "127.0.0.11" {
		t.Fatalf("from %s", got)
	}
	plain := s.dial(t)
	ask := func() string {
		_, body := plain.send(request("POST", home+"/", basic("session=a", "x"), "Content-Length: 3\r\n") + "abc").answer("POST")
		return body
	}
	if got := ask(); got != "127.0.0.11 POST / abc" {
		t.Fatalf("from %s", got)
	}
	w.proxies["px-1"].end()
	if got := ask(); got != "127.0.0.12 POST / abc" {
		t.Errorf("a request then: %q", got)
	}
	if got := s.source(t, to, "session=a"); got != "127.0.0.12" {
		t.Errorf("from %s then", got)
	}
	if got := s.source(t, to, "-"); got != "127.0.0.12" {
		t.Errorf("without a session, from %s", got)
	}
}

// Without another proxy the client is told of the one that failed.
func TestTheOnlyProxyFails(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11).end()
	s := w.start()
	began := time.Now()
	r, body := s.dial(t).send(request("CONNECT", "127.0.0.1:80", basic("session=a", "x"))).answer("CONNECT")
	if r.StatusCode != 502 || !strings.Contains(body, "the leased proxy cannot be connected to") || r.Header.Get(ProxyHeader) != "crawl/px-1" ||
		!strings.HasPrefix(r.Header.Get("Proxy-Status"), `gatehouse-egress; next-hop="crawl/px-1"; error=connection_refused`) {
		t.Errorf("%s %v %q", r.Status, r.Header, body)
	}
	if took := time.Since(began); took > s.Config.Limits.Connect {
		t.Errorf("after %s: nobody waits for another proxy", took)
	}
	eventually(t, "its lease is given back", func() bool { return w.active() == 0 })
}

// What the proxy says of a target is told, with the words of both.
func TestATargetRefuses(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s := w.start()
	ln := listen(t)
	_ = ln.Close()
	r, _ := s.dial(t).send(request("CONNECT", ln.Addr().String(), basic("-", "x"))).answer("CONNECT")
	status := strings.Join(r.Header.Values("Proxy-Status"), ", ")
	if r.StatusCode != 502 || !strings.HasPrefix(status, "px-1; error=connection_refused") || !strings.Contains(status, `gatehouse-egress; next-hop="crawl/px-1"; error=connection_refused`) {
		t.Errorf("%s %s", r.Status, status)
	}
	d, _ := proxy.SOCKS5("tcp", s.address, &proxy.Auth{User: "-", Password: "x"}, nil)
	if _, err := d.Dial("tcp", ln.Addr().String()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("by SOCKS: %v", err)
	}
}

// A lease outlives its life while it is used; its tunnels end when it does, or its proxy
// is gone.
func TestATunnelEndsWithItsLease(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s, to := w.start(), echo(t)
	began := time.Now()
	kept, _ := s.connect(t, to, basic("ttl=2", "x"))
	kept.expect("127.0.0.11\n")
	var prolonged, gone, unknown sync.WaitGroup
	prolonged.Go(func() {
		for time.Since(began) < 4*time.Second {
			kept.send("x").expect("x")
			<-time.After(20 * time.Millisecond)
		}
	})
	prolonged.Wait()
	second, r := s.connect(t, to, basic("ttl=2", "x"))
	second.expect("127.0.0.11\n")
	unknown.Go(second.ends)
	if err := w.store.Release(t.Context(), r.Header.Get(LeaseHeader)); err != nil {
		t.Fatal(err)
	}
	unknown.Wait()
	gone.Go(kept.ends)
	if err := w.store.Remove(t.Context(), "uid-px-1"); err != nil {
		t.Fatal(err)
	}
	gone.Wait()
}

// A session's lease is renewed for a minute after its last use, and with none of its
// connections open.
func TestASessionOutlivesItsConnections(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s, to := w.start(), echo(t)
	p, r := s.connect(t, to, basic("session=a,ttl=1", "x"))
	id := r.Header.Get(LeaseHeader)
	_ = p.Close()
	eventually(t, "nobody uses it", func() bool { all := s.Sessions(); return len(all) == 1 && all[0].Uses == 0 })
	first := s.Sessions()[0].ExpiresAt
	eventually(t, "it is renewed", func() bool { return s.Sessions()[0].ExpiresAt.After(first.Add(time.Second)) })
	if _, r := s.connect(t, to, basic("session=a,ttl=1", "x")); r.Header.Get(LeaseHeader) != id {
		t.Error("it has another lease")
	}
	if session.Idle != time.Minute {
		t.Errorf("kept for %s", session.Idle)
	}
}

// By SOCKS everything is as by CONNECT.
func TestClientsOfSOCKS(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	secret, who := tokens(t, "crawler", "")
	s, to := w.start(who), echo(t)
	dial := func(user, password string) error {
		d, err := proxy.SOCKS5("tcp", s.address, &proxy.Auth{User: user, Password: password}, nil)
		if err != nil {
			return err
		}
		c, err := d.Dial("tcp", to)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		b := make([]byte, 11)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != "127.0.0.11\n" {
			return fmt.Errorf("%q, %w", b, err)
		}
		return nil
	}
	if err := dial("session=a", secret); err != nil {
		t.Error(err)
	}
	for _, c := range [][2]string{{"-", "wrong"}, {"abc", secret}} {
		if err := dial(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "authentication failed") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// Proxies of every scheme are gone by, for tunnels and for plain HTTP.
func TestSchemesOfProxies(t *testing.T) {
	for _, scheme := range []string{hop.HTTP, hop.HTTPS, hop.SOCKS} {
		t.Run(scheme, func(t *testing.T) {
			w := newWorld(t)
			w.add("px-1", 11, speaks(scheme))
			s := w.start()
			home, _ := target(t)
			tunnel, _ := s.connect(t, echo(t), basic("-", "x"))
			tunnel.expect("127.0.0.11\n")
			tunnel.send("hello").expect("hello")
			plain := s.dial(t)
			for range 2 {
				r, body := plain.send(request("GET", home+"/a?b", basic("-", "x"))).answer("GET")
				if r.StatusCode != http.StatusOK || body != "127.0.0.11 GET /a?b " || r.Header.Get(ProxyHeader) != "crawl/px-1" {
					t.Errorf("%s %q %v", r.Status, body, r.Header)
				}
			}
		})
	}
}

// A lease API that is away is in the log, once and with its address, and that it is back.
func TestTheLogHasWhatTheLeaseAPIDoes(t *testing.T) {
	w := newWorld(t)
	w.add("px-1", 11)
	s, to := w.start(), echo(t)
	ask := func() int {
		r, _ := s.dial(t).send(request("CONNECT", to, basic("-", "x"))).answer("CONNECT")
		return r.StatusCode
	}
	w.answer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(rw, `{"error":"unauthorized"}`)
	}))
	for range 3 {
		if code := ask(); code != 502 {
			t.Fatal(code)
		}
	}
	if log := s.log.String(); strings.Count(log, "the lease API grants nothing") != 1 || !strings.Contains(log, "unauthorized") || !strings.Contains(log, w.api.URL) {
		t.Errorf("refused: %s", log)
	}
	w.answer(nil)
	eventually(t, "the lease API is back", func() bool { return ask() == 200 && strings.Contains(s.log.String(), "the lease API grants again") })
}
