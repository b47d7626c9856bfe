package envoy

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

func TestMatches(t *testing.T) {
	names := []string{"exact", "regex", "prefix", "method", "header", "header-regex", "query", "query-regex", "all", "rest"}
	route := func(name string, m model.Match) model.Route {
		return model.Route{Name: name, Match: m, Forward: to(name)}
	}
	f := serve(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		route("all", model.Match{
			Path: prefix("/all").Path, Method: "PUT",
			Headers: []model.ValueMatch{{Name: "x-a", Value: "1"}, {Name: "x-b", Value: "2"}},
			Query:   []model.ValueMatch{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
		}),
		route("exact", exact("/exact")),
		route("regex", pattern("/r[0-9]+(/x)?")),
		route("prefix", prefix("/prefix/a/")),
		route("method", model.Match{Path: prefix("/").Path, Method: "DELETE"}),
		route("header", model.Match{Headers: []model.ValueMatch{{Name: "X-Color", Value: "red"}}}),
		route("header-regex", model.Match{Headers: []model.ValueMatch{{Name: "x-color", Value: "b.*", Regex: true}}}),
		route("query", model.Match{Query: []model.ValueMatch{{Name: "q", Value: "a b"}}}),
		route("query-regex", model.Match{Query: []model.ValueMatch{{Name: "q", Value: "[0-9]+", Regex: true}}}),
		route("rest", prefix("/")),
	}}}, backends(t, names...)))
	cases := []struct {
		q    question
		want string
	}{
		{question{Path: "/exact"}, "exact"},
		{question{Path: "/exact?x=y"}, "exact"},
		{question{Path: "/exact/"}, "rest"},
		{question{Path: "/Exact"}, "rest"},
		{question{Path: "/r12"}, "regex"},
		{question{Path: "/r12/x?y"}, "regex"},
		{question{Path: "/r12/y"}, "rest"},
		{question{Path: "/a/r12"}, "rest"},
		{question{Path: "/prefix/a"}, "prefix"},
		{question{Path: "/prefix/a/"}, "prefix"},
		{question{Path: "/prefix/a/b?c"}, "prefix"},
		{question{Path: "/prefix/ab"}, "rest"},
		{question{Path: "/prefix"}, "rest"},
		{question{Path: "/prefix//a"}, "prefix"},
		{question{Path: "/x/../prefix/./a"}, "prefix"},
		{question{Method: "DELETE", Path: "/x"}, "method"},
		{question{Header: header("x-color", "red")}, "header"},
		{question{Header: header("x-color", "Red")}, "rest"},
		{question{Header: header("x-color", "blue")}, "header-regex"},
		{question{Header: header("x-color", "light blue")}, "rest"},
		{question{Path: "/?q=a%20b"}, "query"},
		{question{Path: "/?q=a+b"}, "query"},
		{question{Path: "/?q=a%20bc"}, "rest"},
		{question{Path: "/?p=1&q=12"}, "query-regex"},
		{question{Path: "/?q=12x"}, "rest"},
		{question{Method: "PUT", Path: "/all/x?b=2&a=1", Header: header("x-a", "1", "x-b", "2")}, "all"},
		{question{Method: "PUT", Path: "/all/x?b=2", Header: header("x-a", "1", "x-b", "2")}, "rest"},
		{question{Method: "PUT", Path: "/all/x?b=2&a=1", Header: header("x-a", "1")}, "rest"},
		{question{Method: "GET", Path: "/all/x?b=2&a=1", Header: header("x-a", "1", "x-b", "2")}, "rest"},
	}
	for _, c := range cases {
		if got := f.ask(c.q); got.Backend != c.want {
			t.Errorf("%+v went to %q (status %d), want %q", c.q, got.Backend, got.Status, c.want)
		}
	}
}

func header(pairs ...string) http.Header {
	out := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = append(out[pairs[i]], pairs[i+1])
	}
	return out
}

func TestHosts(t *testing.T) {
	names := []string{"exact", "wild", "deep"}
	all := func(name string) []model.Route {
		return []model.Route{{Name: "r", Match: prefix("/"), Forward: to(name)}}
	}
	f := serve(t, plain([]model.VirtualHost{
		{Domain: "a.example", Routes: all("exact")},
		{Domain: "*.example", Routes: all("wild")},
		{Domain: "*.b.example", Routes: all("deep")},
		{Domain: "none.example"},
		{Domain: "other.example", Misdirected: true},
	}, backends(t, names...)))
	cases := []struct {
		host   string
		status int
		want   string
	}{
		{"a.example", 200, "exact"},
		{"A.Example", 200, "exact"},
		{"a.example:8080", 200, "exact"},
		{"a.example.", 200, "exact"},
		{"a.example.:8080", 200, "exact"},
		{"b.example", 200, "wild"},
		{"x.y.example", 200, "wild"},
		{"x.b.example:1", 200, "deep"},
		{"x.y.b.example", 200, "deep"},
		{"example", 404, ""},
		{"a.test", 404, ""},
		{"none.example", 404, ""},
		{"other.example", 421, ""},
		{"other.example:8443", 421, ""},
	}
	for _, c := range cases {
		if got := f.ask(question{Host: c.host}); got.Backend != c.want || got.Status != c.status {
			t.Errorf("%s: %d from %q, want %d from %q", c.host, got.Status, got.Backend, c.status, c.want)
		}
	}
}

func TestHeaderEdits(t *testing.T) {
	edit := func(mark string) model.HeaderEdit {
		return model.HeaderEdit{
			Set:    []model.Header{{Name: "x-set", Value: mark}, {Name: "x-empty", Value: ""}},
			Add:    []model.Header{{Name: "x-mark", Value: mark}, {Name: "x-mark", Value: "100% %REQ(x-set)%"}},
			Remove: []string{"x-gone", "x-mark-off"},
		}
	}
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{
			Name: "r", Match: prefix("/both"), Filters: model.Filters{Request: edit("rule"), Response: edit("rule")},
			Forward: split(model.WeightedBackend{
				Cluster: backendID("cart"), Weight: 1, Filters: model.Filters{Request: edit("backend"), Response: edit("backend")},
			}),
		},
		{Name: "redirect", Match: prefix("/redirect"), Filters: model.Filters{Response: edit("rule")}, Redirect: &model.Redirect{Status: 302, Hostname: "b.test"}},
	}}}, backends(t, "cart"))
	f := serve(t, w)
	got := f.ask(question{Path: "/both", Header: header(
		"x-set", "client", "x-gone", "client", "x-mark", "client",
		"x-echo-x-set", "backend", "x-echo-x-gone", "backend", "x-echo-server", "app/1",
	)})
	wantMarks := []string{"client", "rule", "100% %REQ(x-set)%", "backend", "100% %REQ(x-set)%"}
	if diff := cmp.Diff(wantMarks, got.Answer.Headers["X-Mark"]); diff != "" {
		t.Errorf("request x-mark (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantMarks[1:], got.Header["X-Mark"]); diff != "" {
		t.Errorf("response x-mark (-want +got):\n%s", diff)
	}
	for what, h := range map[string]http.Header{"request": got.Answer.Headers, "response": got.Header} {
		if diff := cmp.Diff([]string{"backend"}, h["X-Set"]); diff != "" {
			t.Errorf("%s x-set (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff([]string{""}, h["X-Empty"]); diff != "" {
			t.Errorf("%s x-empty (-want +got):\n%s", what, diff)
		}
		if len(h["X-Gone"]) > 0 {
			t.Errorf("%s still has x-gone", what)
		}
	}
	if server := got.Header.Get("Server"); server != "app/1" {
		t.Errorf("the answer's server is %q, want the backend's own", server)
	}
	if got := f.ask(question{Path: "/redirect"}); !slices.Contains(got.Header["X-Mark"], "rule") {
		t.Errorf("the redirect has no mark of its rule: %v", got.Header)
	}
	for name := range got.Answer.Headers {
		if strings.HasPrefix(name, "X-Envoy-") && name != "X-Envoy-External-Address" {
			t.Errorf("the backend got Envoy's own header %s", name)
		}
	}
}

func TestRewrittenHost(t *testing.T) {
	f := serve(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "r", Match: prefix("/"), Forward: to("cart"), Rewrite: &model.Rewrite{Hostname: "cart.internal"}},
	}}}, backends(t, "cart")))
	got := f.ask(question{Host: "shop.example:8080", Path: "/a?b"})
	if got.Host != "cart.internal" || got.Answer.Headers.Get("X-Forwarded-Host") != "shop.example:8080" || got.Path != "/a" {
		t.Errorf("the backend got host %q, x-forwarded-host %q, path %q", got.Host, got.Answer.Headers.Get("X-Forwarded-Host"), got.Path)
	}
}

func TestShares(t *testing.T) {
	share := func(name string, weight uint32) model.WeightedBackend {
		return model.WeightedBackend{Cluster: backendID(name), Weight: weight}
	}
	f := serve(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "1", Match: prefix("/half"), Forward: split(share("a", 1), share("", 1))},
		{Name: "2", Match: prefix("/none"), Forward: split(share("", 1))},
		{Name: "3", Match: prefix("/zero"), Forward: split(share("a", 0), share("b", 1))},
		{Name: "4", Match: prefix("/third"), Forward: split(share("a", 2), share("b", 1))},
		{Name: "5", Match: prefix("/missing-zero"), Forward: split(share("a", 1), share("", 0))},
		{Name: "6", Match: prefix("/same"), Forward: split(share("a", 1), share("a", 1))},
		{Name: "7", Match: prefix("/status"), Status: 500},
	}}}, backends(t, "a", "b")))
	const n = 300
	cases := []struct {
		path string
		want map[string]float64 // share by backend, "" for status 500
	}{
		{"/half", map[string]float64{"a": 0.5, "": 0.5}},
		{"/none", map[string]float64{"": 1}},
		{"/zero", map[string]float64{"b": 1}},
		{"/third", map[string]float64{"a": 2.0 / 3, "b": 1.0 / 3}},
		{"/missing-zero", map[string]float64{"a": 1}},
		{"/same", map[string]float64{"a": 1}},
		{"/status", map[string]float64{"": 1}},
	}
	for _, c := range cases {
		count := map[string]int{}
		for range n {
			got := f.ask(question{Path: c.path})
			if (got.Backend == "") != (got.Status == 500) {
				t.Fatalf("%s: status %d from %q", c.path, got.Status, got.Backend)
			}
			count[got.Backend]++
		}
		for name, want := range c.want {
			// Four standard deviations of a fair draw are 0.12.
			if got := float64(count[name]) / n; got < want-0.15 || got > want+0.15 {
				t.Errorf("%s: %q got %.2f of the requests, want %.2f", c.path, name, got, want)
			}
			delete(count, name)
		}
		if len(count) > 0 {
			t.Errorf("%s: also answered by %v", c.path, count)
		}
	}
}

func TestTimeout(t *testing.T) {
	f := serve(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "1", Match: prefix("/short"), Forward: &model.Forward{Backends: to("a").Backends, Timeout: 50 * time.Millisecond}},
		{Name: "2", Match: prefix("/"), Forward: to("a")},
	}}}, backends(t, "a")))
	slow := header("x-answer-delay", "300ms")
	if got := f.ask(question{Path: "/short", Header: slow}); got.Status != 504 {
		t.Errorf("with a timeout of 50 ms, a backend that takes 300 ms gives %d, want 504", got.Status)
	}
	if got := f.ask(question{Path: "/", Header: slow}); got.Status != 200 {
		t.Errorf("without a timeout, a backend that takes 300 ms gives %d, want 200", got.Status)
	}
}
