package envoy

import (
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// TestCORS: preflights are answered here, and only what was allowed is.
func TestCORS(t *testing.T) {
	listed := &model.CORS{
		Origins: []string{"https://a.example", "https://*.b.example", "http://c.example:8080"}, Methods: []string{"GET", "DELETE"},
		Headers: []string{"x-a", "x-b"}, Expose: []string{"x-answer"}, MaxAge: 600 * time.Second,
	}
	open := &model.CORS{Origins: []string{"*"}, Methods: []string{"*"}, Headers: []string{"*"}, Expose: []string{"*"}, MaxAge: 5 * time.Second}
	trusting := &model.CORS{Origins: []string{"*"}, Methods: []string{"*"}, Headers: []string{"*"}, Expose: []string{"*"}, Credentials: true}
	hosts := []model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "1", Match: prefix("/listed"), Forward: to("b"), Filters: model.Filters{CORS: listed}},
		{Name: "2", Match: prefix("/open"), Forward: to("b"), Filters: model.Filters{CORS: open}},
		{Name: "3", Match: prefix("/trusting"), Forward: to("b"), Filters: model.Filters{CORS: trusting}},
		{Name: "4", Match: prefix("/"), Forward: to("b")},
	}}}
	f := serve(t, plain(hosts, backends(t, "b")))
	for _, c := range []struct {
		method, path, origin string
		ask                  string // of access-control-request-headers
		backend              string
		want                 map[string]string // without the prefix "access-control-"
	}{
		{"OPTIONS", "/listed", "https://a.example", "x-a", "", map[string]string{
			"allow-origin": "https://a.example", "allow-methods": "GET,DELETE", "allow-headers": "x-a,x-b", "expose-headers": "x-answer", "max-age": "600",
		}},
		{"OPTIONS", "/listed", "https://x.y.b.example", "", "", map[string]string{
			"allow-origin": "https://x.y.b.example", "allow-methods": "GET,DELETE", "allow-headers": "x-a,x-b", "expose-headers": "x-answer", "max-age": "600",
		}},
		{"OPTIONS", "/listed", "http://c.example:8080", "", "", map[string]string{
			"allow-origin": "http://c.example:8080", "allow-methods": "GET,DELETE", "allow-headers": "x-a,x-b", "expose-headers": "x-answer", "max-age": "600",
		}},
		{"OPTIONS", "/listed", "https://b.example", "", "", nil},
		{"OPTIONS", "/listed", "https://x.b.example:8443", "", "", nil},
		{"OPTIONS", "/listed", "http://a.example", "", "", nil},
		{"GET", "/listed", "https://a.example", "", "b", map[string]string{"allow-origin": "https://a.example", "expose-headers": "x-answer"}},
		{"GET", "/listed", "https://evil.example", "", "b", nil},
		{"GET", "/listed", "", "", "b", nil},
		{"OPTIONS", "/open", "https://a.example", "x-a,x-b", "", map[string]string{
			"allow-origin": "https://a.example", "allow-methods": "PUT", "allow-headers": "x-a,x-b", "expose-headers": "*", "max-age": "5",
		}},
		{"GET", "/open", "https://a.example", "", "b", map[string]string{"allow-origin": "https://a.example", "expose-headers": "*"}},
		{"OPTIONS", "/trusting", "https://a.example", "x-a,x-b", "", map[string]string{
			"allow-origin": "https://a.example", "allow-methods": "PUT", "allow-headers": "x-a,x-b", "allow-credentials": "true",
		}},
		{"OPTIONS", "/trusting", "https://a.example", "", "", map[string]string{
			"allow-origin": "https://a.example", "allow-methods": "PUT", "allow-credentials": "true",
		}},
		{"GET", "/trusting", "https://a.example", "", "b", map[string]string{"allow-origin": "https://a.example", "allow-credentials": "true"}},
		{"OPTIONS", "/", "https://a.example", "x-a", "b", nil},
	} {
		h := header("x-n", "1")
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		if c.method == "OPTIONS" {
			h.Set("Access-Control-Request-Method", "PUT")
		}
		if c.ask != "" {
			h.Set("Access-Control-Request-Headers", c.ask)
		}
		got := f.ask(question{Method: c.method, Path: c.path, Header: h})
		if got.Status != 200 || got.Backend != c.backend {
			t.Errorf("%s %s of %s: status %d of backend %q, want 200 of %q", c.method, c.path, c.origin, got.Status, got.Backend, c.backend)
		}
		names := []string{"allow-origin", "allow-methods", "allow-headers", "allow-credentials", "expose-headers", "max-age"}
		if c.want == nil { // without leave for the origin the others say nothing
			names = names[:1]
		}
		for _, name := range names {
			if have := got.Header.Get("Access-Control-" + name); have != c.want[name] {
				t.Errorf("%s %s of %s asking for %q: %s is %q, want %q", c.method, c.path, c.origin, c.ask, name, have, c.want[name])
			}
		}
	}
}
