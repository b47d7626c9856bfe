package envoy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// counted is a backend that counts the requests of each host that reach it.
type counted struct {
	at    netip.AddrPort
	seen  atomic.Int64
	hosts atomic.Pointer[string]
}

func startCounted(t *testing.T, answer http.HandlerFunc) *counted {
	t.Helper()
	c := &counted{}
	c.at = serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		c.hosts.Store(&r.Host)
		c.seen.Add(1)
		if answer != nil {
			answer(w, r)
		}
	})
	return c
}

// settle waits until a backend was asked n times.
func (c *counted) settle(t *testing.T, f traffic, n int64) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for c.seen.Load() < n {
		if time.Now().After(deadline) {
			t.Fatalf("a mirror saw %d requests, want %d", c.seen.Load(), n)
		}
		f.envoy.Admin("/stats/prometheus?filter=none") // a pause that needs no clock
	}
}

// TestMirrors: every mirror sees its part of the requests, under their own host,
// and has no say in the answer.
func TestMirrors(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	all, half := startCounted(t, refuse), startCounted(t, refuse)
	at := backends(t, "b")
	at["all"], at["half"] = all.at, half.at
	hosts := everything("b")
	hosts[0].Routes[0].Filters.Mirrors = []model.Mirror{{Cluster: backendID("all"), Millionths: million}, {Cluster: backendID("half"), Millionths: million / 2}}
	f := serve(t, plain(hosts, at))
	const n = 200
	for range n {
		if got := f.ask(question{Host: "shop.example"}); got.Status != 200 || got.Backend != "b" {
			t.Fatalf("status %d of %q", got.Status, got.Backend)
		}
	}
	all.settle(t, f, n)
	half.settle(t, f, n/2-50)
	if seen := half.seen.Load(); seen > n/2+50 {
		t.Errorf("the mirror of a half saw %d of %d requests", seen, n)
	}
	if host := *all.hosts.Load(); host != "shop.example" {
		t.Errorf("the mirror was asked for host %q", host)
	}
}

// TestFiltersOfOneBackend: what Envoy has for whole routes only is done for the
// share of one backend, and weights hold.
func TestFiltersOfOneBackend(t *testing.T) {
	mirror := startCounted(t, nil)
	at := backends(t, "plain", "new")
	at["mirror"] = mirror.at
	rewritten := model.WeightedBackend{
		Cluster: backendID("new"), Weight: 3,
		Rewrite: &model.Rewrite{Hostname: "new.example", Path: &model.PathEdit{Prefix: true, Value: "/v2"}},
		Filters: model.Filters{
			Request: model.HeaderEdit{Add: []model.Header{{Name: "x-mark", Value: "share"}}},
			Mirrors: []model.Mirror{{Cluster: backendID("mirror"), Millionths: million}},
		},
	}
	redirected := model.WeightedBackend{Cluster: backendID("plain"), Weight: 2, Redirect: &model.Redirect{Hostname: "else.example", Status: 302}}
	route := model.Route{Name: "shop/split", Match: prefix("/v1"), Forward: split(
		model.WeightedBackend{Cluster: backendID("plain"), Weight: 4}, rewritten, redirected, model.WeightedBackend{Weight: 1},
	)}
	route.Filters.Request.Add = []model.Header{{Name: "x-mark", Value: "rule"}}
	f := serve(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{route}}}, at))
	const n = 1000
	counts := map[string]int{}
	for range n {
		got := f.ask(question{Path: "/v1/x"})
		what := fmt.Sprintf("%d %s %s%s %v %s", got.Status, got.Backend, got.Host, got.Path, got.Marks, got.Location)
		counts[what]++
	}
	for what, share := range map[string]int{
		"200 plain shop.example/v1/x [rule] ":    400,
		"200 new new.example/v2/x [rule share] ": 300,
		"302  / [] http://else.example/v1/x":     200,
		"302   [] http://else.example/v1/x":      200,
		"500   [] ":                              100,
	} {
		if got := counts[what]; got != 0 && (got < share-90 || got > share+90) {
			t.Errorf("%q: %d of %d, want about %d", what, got, n, share)
		}
	}
	if len(counts) != 4 {
		t.Errorf("the shares are %v, want 4 of them", counts)
	}
	mirror.settle(t, f, int64(counts["200 new new.example/v2/x [rule share] "]))
}

// TestRetries: answers with the codes of a route are tried again, as often as it
// says; so are connections that break and tries that take too long.
func TestRetries(t *testing.T) {
	var tries atomic.Int64
	flaky := func(w http.ResponseWriter, r *http.Request) {
		n := tries.Add(1)
		switch r.URL.Path {
		case "/codes", "/no", "/other":
			if n < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		case "/reset":
			if n < 3 {
				panic(http.ErrAbortHandler)
			}
		case "/slow", "/once":
			if n < 3 {
				<-r.Context().Done()
			}
		}
	}
	b := startCounted(t, flaky)
	host := model.VirtualHost{Domain: "*"}
	add := func(path string, f model.Forward) {
		f.Backends = to("b").Backends
		host.Routes = append(host.Routes, model.Route{Name: "shop" + path, Match: exact(path), Forward: &f})
	}
	retry := func(attempts uint32, codes ...uint32) *model.Retry {
		return &model.Retry{Attempts: attempts, Codes: codes, Backoff: time.Millisecond}
	}
	add("/codes", model.Forward{Retry: retry(2, 503)})
	add("/no", model.Forward{Retry: retry(0, 503)})
	add("/other", model.Forward{Retry: retry(2, 502)})
	add("/reset", model.Forward{Retry: retry(2)})
	add("/slow", model.Forward{Retry: retry(2), TryTimeout: 200 * time.Millisecond})
	add("/once", model.Forward{TryTimeout: 200 * time.Millisecond})
	f := serve(t, plain([]model.VirtualHost{host}, map[string]netip.AddrPort{"b": b.at}))
	for _, c := range []struct {
		path   string
		status int
		tries  int64
	}{
		{"/codes", 200, 3},
		{"/no", 503, 1},
		{"/other", 503, 1},
		{"/reset", 200, 3},
		{"/slow", 200, 3},
		{"/once", 504, 1},
	} {
		tries.Store(0)
		got := f.ask(question{Path: c.path})
		if n := tries.Load(); got.Status != c.status || n != c.tries {
			t.Errorf("%s: status %d after %d tries, want %d after %d", c.path, got.Status, n, c.status, c.tries)
		}
	}
}

// TestTimeoutCoversEveryTry: however many tries are left, a request ends when its
// own time is up.
func TestTimeoutCoversEveryTry(t *testing.T) {
	b := startCounted(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	hosts := everything("b")
	hosts[0].Routes[0].Forward = &model.Forward{
		Backends: to("b").Backends, Timeout: 500 * time.Millisecond, TryTimeout: 200 * time.Millisecond,
		Retry: &model.Retry{Attempts: 1000, Backoff: time.Millisecond},
	}
	f := serve(t, plain(hosts, map[string]netip.AddrPort{"b": b.at}))
	start := time.Now()
	got := f.ask(question{})
	if spent := time.Since(start); got.Status != 504 || spent < 400*time.Millisecond || spent > 4*time.Second {
		t.Errorf("status %d after %s, want 504 after 500ms", got.Status, spent)
	}
	if n := b.seen.Load(); n < 2 || n > 4 {
		t.Errorf("the backend was tried %d times, want 3", n)
	}
}

// serveHTTP runs a handler until the test ends.
func serveHTTP(t *testing.T, h http.HandlerFunc) netip.AddrPort {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return netip.MustParseAddrPort(server.Listener.Addr().String())
}
