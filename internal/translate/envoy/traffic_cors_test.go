package envoy

import (
	"strings"
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

// TestCORSWithoutBackend follows the Fetch standard's steps where nothing is forwarded:
// a preflight must be answered with an ok status and leave, and a redirect or an error
// must be marked, or browsers neither follow nor show it.
func TestCORSWithoutBackend(t *testing.T) {
	some := &model.CORS{Origins: []string{"https://a.example", "https://*.b.example:8443"}, Methods: []string{"PUT"}, Expose: []string{"x-answer"}, Credentials: true, MaxAge: 5 * time.Second}
	every := &model.CORS{Origins: []string{"*"}, Methods: []string{"*"}}
	moved := &model.Redirect{Path: &model.PathEdit{Value: "/new"}, Status: 308}
	get := prefix("/get")
	get.Method = "GET"
	marks := model.HeaderEdit{Set: []model.Header{{Name: "vary", Value: "Accept"}, {Name: "access-control-allow-origin", Value: "https://wrong.example"}}}
	hosts := []model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "1", Match: prefix("/moved"), Redirect: moved, Filters: model.Filters{CORS: some}},
		{Name: "2", Match: prefix("/every"), Redirect: moved, Filters: model.Filters{CORS: every, Response: marks}},
		{Name: "3", Match: get, Redirect: moved, Filters: model.Filters{CORS: some}},
		{Name: "4", Match: prefix("/closed"), Status: 500, Filters: model.Filters{CORS: some}},
		{Name: "5", Match: prefix("/none"), Forward: &model.Forward{Backends: []model.WeightedBackend{{Weight: 1}}}, Filters: model.Filters{CORS: some}},
		{Name: "6", Match: prefix("/shared"), Forward: &model.Forward{Backends: []model.WeightedBackend{
			{Cluster: "b", Weight: 1, Redirect: moved, Filters: model.Filters{CORS: some}}, {Cluster: "b", Weight: 1, Redirect: moved, Filters: model.Filters{CORS: some}},
		}}},
		{Name: "7", Match: prefix("/"), Forward: to("b")},
	}}}
	f := serve(t, plain(hosts, backends(t, "b")))
	const a, deep, evil = "https://a.example", "https://x.b.example:8443", "https://evil.example"
	for _, c := range []struct {
		method, path, origin, ask string
		status                    int
		allow, credentials, vary  string
	}{
		{"OPTIONS", "/moved", a, "PUT", 200, a, "true", ""},
		{"OPTIONS", "/moved", deep, "PUT", 200, deep, "true", ""},
		{"OPTIONS", "/moved", evil, "PUT", 200, "", "", ""},
		{"OPTIONS", "/moved", a, "", 308, a, "true", "Origin"}, // no preflight
		{"OPTIONS", "/moved", "", "PUT", 308, "", "", "Origin"},
		{"PUT", "/moved", a, "", 308, a, "true", "Origin"},
		{"PUT", "/moved", deep, "", 308, deep, "true", "Origin"},
		{"GET", "/moved", a + ".evil.example", "", 308, "", "", "Origin"},
		{"GET", "/moved", "https://aXexample", "", 308, "", "", "Origin"},
		{"GET", "/moved", "", "", 308, "", "", "Origin"},
		{"OPTIONS", "/every", evil, "GET", 200, evil, "", ""},
		{"GET", "/every", evil, "", 308, evil, "", "Accept,Origin"},
		{"GET", "/get", a, "", 308, a, "true", "Origin"},
		{"OPTIONS", "/get", a, "GET", 200, "", "", ""}, // another route takes it
		{"OPTIONS", "/closed", a, "PUT", 200, a, "true", ""},
		{"PUT", "/closed", a, "", 500, a, "true", ""},
		{"PUT", "/closed", evil, "", 500, "", "", ""},
		{"GET", "/closed", "", "", 500, "", "", ""},
		{"OPTIONS", "/none", a, "PUT", 200, a, "true", ""},
		{"GET", "/none", a, "", 500, a, "true", ""},
		{"OPTIONS", "/shared", a, "PUT", 200, a, "true", ""},
		{"GET", "/shared", a, "", 308, a, "true", "Origin"},
	} {
		h := header("x-n", "1")
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		if c.ask != "" {
			h.Set("Access-Control-Request-Method", c.ask)
		}
		got := f.ask(question{Method: c.method, Path: c.path, Header: h})
		allow, credentials := got.Header.Get("Access-Control-Allow-Origin"), got.Header.Get("Access-Control-Allow-Credentials")
		if got.Status != c.status || allow != c.allow || credentials != c.credentials && c.allow != "" {
			t.Errorf("%s %s of %q: status %d, origin %q, credentials %q; want %d, %q, %q", c.method, c.path, c.origin, got.Status, allow, credentials, c.status, c.allow, c.credentials)
		}
		if vary := strings.Join(got.Header.Values("Vary"), ", "); vary != c.vary {
			t.Errorf("%s %s of %q: it varies by %q, want %q", c.method, c.path, c.origin, vary, c.vary)
		}
	}
}
