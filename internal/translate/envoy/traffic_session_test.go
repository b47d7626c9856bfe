package envoy

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// crowd starts backends, and makes them the endpoints of one.
func crowd(t *testing.T, w *world, name string, members ...string) {
	t.Helper()
	w.addBackend(name, model.UpstreamHTTP1, slices.SortedFunc(maps.Values(backends(t, members...)), netip.AddrPort.Compare)...)
}

// visitor keeps cookies, or the value of a header, as a client would.
type visitor struct {
	cookies map[string]*http.Cookie
	header  http.Header
}

func newVisitor() *visitor { return &visitor{map[string]*http.Cookie{}, http.Header{}} }

// visit asks for a path, and returns the backend that answers.
func (v *visitor) visit(f traffic, path, header string) string {
	f.t.Helper()
	q := question{Path: path, Header: v.header.Clone()}
	for _, c := range v.cookies {
		q.Header.Add("Cookie", c.Name+"="+c.Value)
	}
	got := f.ask(q)
	if got.Status != 200 {
		f.t.Fatalf("%s: status %d", path, got.Status)
	}
	for _, c := range (&http.Response{Header: got.Header}).Cookies() {
		v.cookies[c.Name] = c
	}
	if value := got.Header.Get(header); value != "" {
		v.header.Set(header, value)
	}
	return got.Backend
}

func sessionOf(s model.Session) *model.Forward {
	return split(model.WeightedBackend{Cluster: backendID("app"), Weight: 1, Session: &s})
}

// TestSessions: a client that carries what it is given stays at one endpoint, and
// one that does not is spread.
func TestSessions(t *testing.T) {
	cookie := func(name, path string) model.Cookie { return model.Cookie{Name: name, Path: path} }
	permanent := cookie("kept", "/")
	permanent.Permanent, permanent.Secure = true, true
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "cookie", Match: prefix("/cookie"), Forward: sessionOf(model.Session{Cookie: cookie("plain", "/")})},
		{Name: "ended", Match: prefix("/ended"), Forward: sessionOf(model.Session{Cookie: cookie("ended", "/"), Lifetime: time.Hour})},
		{Name: "kept", Match: prefix("/kept"), Forward: sessionOf(model.Session{Cookie: permanent, Lifetime: time.Hour})},
		{Name: "scoped", Match: prefix("/scoped"), Forward: sessionOf(model.Session{Cookie: cookie("scoped", "/scoped/in")})},
		{Name: "header", Match: prefix("/header"), Forward: sessionOf(model.Session{Header: "x-session"})},
		{Name: "none", Match: prefix("/none"), Forward: to("app")},
	}}}, nil)
	crowd(t, &w, "app", "a1", "a2", "a3", "a4")
	f := serve(t, w)
	for path, want := range map[string]struct {
		cookie string // its attributes
		spread bool
	}{
		"/cookie":    {cookie: "plain; Path=/; HttpOnly; SameSite=Strict"},
		"/ended":     {cookie: "ended; Path=/; HttpOnly; SameSite=Strict"},
		"/kept":      {cookie: "kept; Path=/; Max-Age=3600; HttpOnly; Secure; SameSite=Strict"},
		"/scoped/in": {cookie: "scoped; Path=/scoped/in; HttpOnly; SameSite=Strict"},
		"/scoped/x":  {spread: true},
		"/header":    {},
		"/none":      {spread: true},
	} {
		seen := map[string]int{}
		one := newVisitor()
		for range 40 {
			seen[one.visit(f, path, "X-Session")]++
		}
		if (len(seen) > 1) != want.spread {
			t.Errorf("%s: one client was answered by %v", path, seen)
		}
		if want.cookie == "" {
			continue
		}
		for _, c := range one.cookies {
			c.Value, c.Quoted = "v", false
			if got := strings.Replace(c.String(), "=v", "", 1); got != want.cookie {
				t.Errorf("%s: cookie %q, want %q", path, got, want.cookie)
			}
		}
		if len(one.cookies) != 1 {
			t.Errorf("%s: %d cookies", path, len(one.cookies))
		}
		others := map[string]int{}
		for range 40 {
			others[newVisitor().visit(f, path, "")]++
		}
		if len(others) < 2 {
			t.Errorf("%s: new clients were all answered by %v", path, others)
		}
	}
}

// TestSessionsOfShares: a session never decides which backend a request goes to, and
// each backend has its own.
func TestSessionsOfShares(t *testing.T) {
	share := func(name, cookie string) model.WeightedBackend {
		return model.WeightedBackend{Cluster: backendID(name), Weight: 1, Session: &model.Session{Cookie: model.Cookie{Name: cookie, Path: "/"}}}
	}
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: split(share("a", "one"), share("b", "two"))}}}}, nil)
	crowd(t, &w, "a", "a1", "a2", "a3")
	crowd(t, &w, "b", "b1", "b2", "b3")
	f := serve(t, w)
	one, seen := newVisitor(), map[string]int{}
	const n = 200
	for range n {
		seen[one.visit(f, "/", "")]++
	}
	if len(seen) != 2 {
		t.Fatalf("one client was answered by %v, want one endpoint of each backend", seen)
	}
	for name, count := range seen {
		if count < n/4 {
			t.Errorf("%s answered %d of %d", name, count, n)
		}
	}
}

// TestSessionEnds: a session is over at its end although it is in use, also where the
// client is not told of the end.
func TestSessionEnds(t *testing.T) {
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "r", Match: prefix("/"), Forward: sessionOf(model.Session{Cookie: model.Cookie{Name: "s", Path: "/"}, Lifetime: time.Second})},
	}}}, nil)
	crowd(t, &w, "app", "a1", "a2")
	f := serve(t, w)
	one := newVisitor()
	one.visit(f, "/", "")
	first := one.cookies["s"].Value
	deadline := time.Now().Add(20 * time.Second)
	for one.cookies["s"].Value == first {
		if time.Now().After(deadline) {
			t.Fatal("the session does not end")
		}
		one.visit(f, "/", "")
	}
}

// TestSessionOutlivesItsEndpoint: a session stays with an endpoint that is draining,
// where no new one begins, and moves on when it is gone.
func TestSessionOutlivesItsEndpoint(t *testing.T) {
	session := sessionOf(model.Session{Header: "x-session"})
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: session}}}}, nil)
	at := backends(t, "old", "new")
	w.addBackend("app", model.UpstreamHTTP1, at["old"])
	one := newVisitor()
	one.visit(serve(t, w), "/", "X-Session")

	w.Endpoints[0].Addresses = []model.Endpoint{{Address: at["old"], Draining: true}, {Address: at["new"]}}
	f := serve(t, w)
	for range 10 {
		if got := one.visit(f, "/", ""); got != "old" {
			t.Errorf("a client with a session is answered by %q, which is not the one that drains", got)
		}
		if got := newVisitor().visit(f, "/", ""); got != "new" {
			t.Errorf("a new client is answered by %q", got)
		}
	}

	w.Endpoints[0].Addresses = []model.Endpoint{{Address: at["new"]}}
	f = serve(t, w)
	held := one.header.Get("X-Session")
	if got := one.visit(f, "/", "X-Session"); got != "new" || one.header.Get("X-Session") == held {
		t.Errorf("a client whose endpoint is gone is answered by %q, and is told %q", got, one.header.Get("X-Session"))
	}
}

// TestSessionsForEverySpelling: sessions hold however the host is written, also where
// only the second lookup finds it.
func TestSessionsForEverySpelling(t *testing.T) {
	routes := []model.Route{{Name: "r", Match: prefix("/"), Forward: sessionOf(model.Session{Header: "x-session"})}}
	w := plain([]model.VirtualHost{{Domain: "a.example", Routes: routes}, {Domain: "*.example", Routes: routes}}, nil)
	crowd(t, &w, "app", "a1", "a2", "a3", "a4")
	w.Tables[0].Scoped = true
	f := serve(t, w)
	for _, host := range []string{"a.example", "A.Example", "a.example.:8080", "b.example", "B.EXAMPLE:80"} {
		got := f.ask(question{Host: host})
		for range 20 {
			next := f.ask(question{Host: host, Header: http.Header{"X-Session": got.Header["X-Session"]}})
			if next.Backend != got.Backend || got.Header.Get("X-Session") == "" {
				t.Fatalf("%s: answered by %s, then by %s", host, got.Backend, next.Backend)
			}
		}
	}
}

// TestRetryBudget: what is over a backend's budget is not tried again, although its
// route asks for it.
func TestRetryBudget(t *testing.T) {
	for _, c := range []struct {
		budget model.RetryBudget
		tries  int64
	}{
		{model.RetryBudget{}, 3},
		{model.RetryBudget{Percent: 1, Interval: 10 * time.Second}, 1},
		{model.RetryBudget{Percent: 1, Interval: 10 * time.Second, Least: 1}, 3}, // one at a time
	} {
		busy := startCounted(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		hosts := everything("busy")
		hosts[0].Routes[0].Forward.Retry = &model.Retry{Attempts: 2, Codes: []uint32{503}, Backoff: time.Millisecond}
		w := plain(hosts, map[string]netip.AddrPort{"busy": busy.at})
		w.Clusters[0].Retries = c.budget
		got := serve(t, w).ask(question{})
		if got.Status != 503 || busy.seen.Load() != c.tries {
			t.Errorf("budget %+v: status %d after %d tries, want %d", c.budget, got.Status, busy.seen.Load(), c.tries)
		}
	}
}
