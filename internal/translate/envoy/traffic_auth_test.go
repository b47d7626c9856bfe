package envoy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	auth_v3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// asked is what services were asked, in order.
type asked struct {
	mu   sync.Mutex
	list []string
	last *http.Request
	body string
}

func (a *asked) note(who string, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list, a.last, a.body = append(a.list, who), r, string(body)
}

// take returns who was asked since the last time.
func (a *asked) take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := strings.Join(a.list, " ")
	a.list = nil
	return out
}

// guard is a service that speaks HTTP. It lets in who knows the word, unless the
// request asks for another status.
func (a *asked) guard(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	return serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		a.note(name, r)
		w.Header().Set("X-User", "ann of "+name)
		w.Header().Set("X-More", "more")
		w.Header().Set("Host", "evil.example")
		w.Header().Set("X-Gatehouse-Scope", "8080/evil.example")
		w.Header().Set("Content-Length", "0")
		switch word := r.Header.Get("Authorization"); word {
		case "open":
		case "broken":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "cut":
			panic(http.ErrAbortHandler)
		case "no content":
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Www-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
}

func guarded(services ...model.Auth) model.Route {
	return model.Route{Name: "r", Match: prefix("/"), Forward: to("app"), Filters: model.Filters{Auth: services}}
}

func known(word string) http.Header { return http.Header{"Authorization": {word}} }

// TestAuth: without the leave of the service nothing passes, and what it was asked
// and what it answered is what the filter says.
func TestAuth(t *testing.T) {
	var a asked
	at := backends(t, "app")
	at["guard"] = a.guard(t, "guard")
	plainGuard := model.Auth{Cluster: backendID("guard")}
	exactGuard := model.Auth{Cluster: backendID("guard"), Path: "/check", Ask: []string{"x-extra"}, Take: []string{"x-user"}}
	down := guarded(model.Auth{Cluster: backendID("down")})
	down.Match = prefix("/down")
	gone := guarded(model.Auth{Cluster: backendID("gone")})
	gone.Match = prefix("/gone")
	strict := guarded(exactGuard)
	strict.Match = prefix("/exact")
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{down, gone, strict, guarded(plainGuard)}}}, at)
	w.addBackend("down", model.UpstreamHTTP1)
	f := serve(t, w)
	for _, c := range []struct {
		path, word string
		status     int
	}{
		{"/", "open", 200},
		{"/", "", 401},
		{"/", "wrong", 401},
		{"/", "broken", 500},
		{"/", "cut", 500},
		{"/", "no content", 204}, // only 200 is leave; what the service says is passed on
		{"/exact", "open", 200},
		{"/exact", "", 401},
		{"/down", "open", 500},
		{"/gone", "open", 500},
	} {
		got := f.ask(question{Path: c.path, Header: known(c.word)})
		if got.Status != c.status || (got.Backend != "") != (c.status == 200) {
			t.Errorf("%s with the word %q: status %d of %q, want %d", c.path, c.word, got.Status, got.Backend, c.status)
		}
	}
	if got := f.ask(question{}); got.Header.Get("Www-Authenticate") != "Basic" {
		t.Errorf("a refusal lacks what the service says: %v", got.Header)
	}

	send := known("open")
	send["X-Extra"], send["X-Private"] = []string{"e"}, []string{"p"}
	got := f.ask(question{Host: "shop.example:80", Path: "/a?b=c", Header: send})
	if r := a.last; r.Host != "shop.example:80" || r.RequestURI != "/a?b=c" || r.Header.Get("X-Extra") != "" || r.Header.Get("X-Private") != "" {
		t.Errorf("the service is asked for %s%s with %v", r.Host, r.RequestURI, r.Header)
	}
	if h := got.Answer.Headers; h.Get("X-User") != "ann of guard" || h.Get("X-More") != "more" || got.Host != "shop.example:80" || h.Get(scopeHeader) != "" {
		t.Errorf("the backend sees %s and %v", got.Host, h)
	}
	got = f.ask(question{Path: "/exact", Header: send})
	if r := a.last; r.RequestURI != "/check/exact" || r.Header.Get("X-Extra") != "e" || r.Header.Get("X-Private") != "" {
		t.Errorf("the service is asked for %s with %v", r.RequestURI, r.Header)
	}
	if h := got.Answer.Headers; h.Get("X-User") != "ann of guard" || h.Get("X-More") != "" {
		t.Errorf("the backend sees %v", h)
	}
}

// TestAuthOfBodies: a body is sent where it is asked for, and a longer one refused.
func TestAuthOfBodies(t *testing.T) {
	var a asked
	at := backends(t, "app")
	at["guard"] = a.guard(t, "guard")
	with := guarded(model.Auth{Cluster: backendID("guard"), Body: 8})
	without := guarded(model.Auth{Cluster: backendID("guard")})
	without.Match = prefix("/without")
	f := serve(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{without, with}}}, at))
	for _, c := range []struct {
		path, body, seen string
		status           int
	}{
		{"/", "", "", 200},
		{"/", "12345678", "12345678", 200},
		{"/", "123456789", "", 413},
		{"/without", "123456789", "", 200},
	} {
		a.body = ""
		got := f.ask(question{Method: "POST", Path: c.path, Body: c.body, Header: known("open")})
		if got.Status != c.status || a.body != c.seen {
			t.Errorf("%s with %q: status %d, the service sees %q, want %d, %q", c.path, c.body, got.Status, a.body, c.status, c.seen)
		}
	}
}

// TestSeveralAuth: services are asked in order, those of a rule before that of a
// backend, and the first refusal counts.
func TestSeveralAuth(t *testing.T) {
	var a asked
	at := backends(t, "app", "free")
	at["one"], at["two"], at["three"] = a.guard(t, "one"), a.guard(t, "two"), a.guard(t, "three")
	of := func(name string) model.Auth { return model.Auth{Cluster: backendID(name), Take: []string{"x-user"}} }
	r := guarded(of("one"), of("two"))
	r.Forward = split(
		model.WeightedBackend{Cluster: backendID("app"), Weight: 1, Filters: model.Filters{Auth: []model.Auth{of("three")}}},
		model.WeightedBackend{Cluster: backendID("free"), Weight: 1})
	f := serve(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{r}}}, at))
	seen := map[string]int{}
	for range 60 {
		got := f.ask(question{Header: known("open")})
		seen[got.Backend+": "+a.take()+", "+got.Answer.Headers.Get("X-User")]++
	}
	if len(seen) != 2 || seen["app: one two three, ann of three"] == 0 || seen["free: one two, ann of two"] == 0 {
		t.Errorf("asked %v", seen)
	}
	if got := f.ask(question{}); got.Status != 401 || a.take() != "one" {
		t.Errorf("a refusal is not the last: %d", got.Status)
	}
}

// judge is a service that speaks Envoy's protocol.
type judge struct {
	auth_v3.UnimplementedAuthorizationServer
	last *auth_v3.AttributeContext_HttpRequest
}

func (j *judge) Check(_ context.Context, r *auth_v3.CheckRequest) (*auth_v3.CheckResponse, error) {
	j.last = r.GetAttributes().GetRequest().GetHttp()
	if j.last.GetHeaders()["authorization"] != "open" {
		return &auth_v3.CheckResponse{Status: &status.Status{Code: int32(codes.PermissionDenied)}}, nil
	}
	set := []*envoy_core_v3.HeaderValueOption{
		{Header: &envoy_core_v3.HeaderValue{Key: "x-user", Value: "ann"}},
		{Header: &envoy_core_v3.HeaderValue{Key: ":authority", Value: "evil.example"}},
		{Header: &envoy_core_v3.HeaderValue{Key: "host", Value: "evil.example"}},
	}
	return &auth_v3.CheckResponse{Status: &status.Status{}, HttpResponse: &auth_v3.CheckResponse_OkResponse{
		OkResponse: &auth_v3.OkHttpResponse{Headers: set},
	}}, nil
}

func startJudge(t *testing.T) (*judge, netip.AddrPort) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	j, server := &judge{}, grpc.NewServer()
	auth_v3.RegisterAuthorizationServer(server, j)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return j, l.Addr().(*net.TCPAddr).AddrPort()
}

// TestAuthOverGRPC: the same in Envoy's own protocol.
func TestAuthOverGRPC(t *testing.T) {
	j, at := startJudge(t)
	w := plain(nil, backends(t, "app"))
	w.addBackend("judge", model.UpstreamHTTP2, at)
	w.addBackend("down", model.UpstreamHTTP2)
	all := guarded(model.Auth{Cluster: backendID("judge"), GRPC: true, Body: 100})
	some := guarded(model.Auth{Cluster: backendID("judge"), GRPC: true, Ask: []string{"authorization", "x-extra"}})
	some.Match = prefix("/some")
	down := guarded(model.Auth{Cluster: backendID("down"), GRPC: true})
	down.Match = prefix("/down")
	gone := guarded(model.Auth{Cluster: backendID("gone"), GRPC: true})
	gone.Match = prefix("/gone")
	w.Tables[0].Hosts = []model.VirtualHost{{Domain: "*", Routes: []model.Route{some, down, gone, all}}}
	f := serve(t, w)
	send := known("open")
	send["X-Extra"], send["X-Private"] = []string{"e"}, []string{"p"}
	for path, want := range map[string]int{"/": 200, "/some": 200, "/down": 500, "/gone": 500} {
		got := f.ask(question{Host: "shop.example", Path: path, Header: send, Method: "POST", Body: "hello"})
		if got.Status != want || (want == 200) != (got.Answer.Headers.Get("X-User") == "ann") || want == 200 && got.Host != "shop.example" {
			t.Errorf("%s: status %d of %q, want %d", path, got.Status, got.Host, want)
		}
		if want != 200 {
			continue
		}
		private, body := "p", "hello"
		if path == "/some" {
			private, body = "", ""
		}
		if h := j.last.GetHeaders(); h["x-extra"] != "e" || h["x-private"] != private || j.last.GetBody() != body || j.last.GetHost() != "shop.example" {
			t.Errorf("%s: the service is asked with %v and body %q", path, h, j.last.GetBody())
		}
		if got := f.ask(question{Path: path}); got.Status != 403 {
			t.Errorf("%s: without the word status %d, want 403", path, got.Status)
		}
	}
}

// TestAuthForEverySpelling: nobody passes by a service by writing the host otherwise,
// also where only the second lookup finds it.
func TestAuthForEverySpelling(t *testing.T) {
	var a asked
	at := backends(t, "app")
	at["guard"] = a.guard(t, "guard")
	routes := []model.Route{guarded(model.Auth{Cluster: backendID("guard")})}
	open := []model.Route{{Name: "open", Match: prefix("/"), Forward: to("app")}}
	hosts := []model.VirtualHost{{Domain: "a.example", Routes: routes}, {Domain: "*.example", Routes: routes}, {Domain: "open.example", Routes: open}, {Domain: "*", Routes: open}}
	for _, scoped := range []bool{false, true} {
		w := plain(hosts, at)
		w.Tables[0].Scoped = scoped
		f := serve(t, w)
		for host, guarded := range map[string]bool{
			"a.example": true, "A.Example": true, "a.example:8080": true, "a.example.": true, "A.EXAMPLE.:80": true,
			"b.example": true, "B.Example:1": true, "open.example": false, "Open.Example": false, "other.test": false, "10.0.0.1": false,
		} {
			for word, leave := range map[string]bool{"open": true, "": false} {
				want := 200
				if guarded && !leave {
					want = 401
				}
				if got := f.ask(question{Host: host, Header: known(word)}); got.Status != want || guarded != (a.take() == "guard") {
					t.Errorf("by host %v, %s with the word %q: status %d, want %d", scoped, host, word, got.Status, want)
				}
			}
		}
	}
}
