package e2e

import (
	"context"
	"fmt"
	"testing"
)

// forwards are what a rule does on the way to its backends, and in their place.
var forwards = []story{
	{
		name: "CORS", host: "cors",
		rules: `  - filters:
    - type: CORS
      cors: {allowOrigins: ["https://*.shop.test"], allowMethods: [GET, PUT], allowHeaders: [X-A], exposeHeaders: [X-B], allowCredentials: true, maxAge: 60}
    ` + to("red"),
		tries: []try{
			{
				method: "OPTIONS", header: "Origin: https://a.shop.test; Access-Control-Request-Method: PUT",
				reply: "Access-Control-Allow-Origin: https://a.shop.test; Access-Control-Allow-Methods: GET,PUT; Access-Control-Allow-Headers: x-a; Access-Control-Allow-Credentials: true; Access-Control-Max-Age: 60; X-Backend: ",
			},
			{method: "OPTIONS", header: "Origin: https://evil.test; Access-Control-Request-Method: PUT", reply: "Access-Control-Allow-Origin: ; X-Backend: "},
			{header: "Origin: https://a.shop.test", from: "red", reply: "Access-Control-Allow-Origin: https://a.shop.test; Access-Control-Expose-Headers: x-b"},
			{header: "Origin: https://evil.test", from: "red", reply: "Access-Control-Allow-Origin: "},
		},
	},
	{
		name: "rewrite for one backend", host: "sharerewrite",
		rules: `  - matches: [{path: {type: PathPrefix, value: /one}}]
    backendRefs:
    - name: red
      port: 80
      filters: [{type: URLRewrite, urlRewrite: {hostname: inside.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /two}}}]`,
		tries: []try{{path: "/one/x?y=1", from: "red", seen: "/two/x?y=1", asHost: "inside.test"}},
	},
	{
		name: "redirect for one backend", host: "shareredirect",
		rules: `  - backendRefs:
    - name: red
      port: 80
      filters: [{type: RequestRedirect, requestRedirect: {scheme: https, hostname: elsewhere.test}}]`,
		tries: []try{{path: "/x", status: 302, reply: "Location: https://elsewhere.test/x"}},
	},
	{
		name: "timeout of a request", host: "timeout", rules: "  - timeouts: {request: 300ms}\n    " + to("red"),
		tries: []try{{from: "red"}, {header: "X-Answer-Delay: 10s", status: 504}},
	},
	{
		name: "timeout of a try", host: "trytimeout", rules: "  - timeouts: {request: 4s, backendRequest: 300ms}\n    " + to("red"),
		tries: []try{{from: "red"}, {header: "X-Answer-Delay: 10s", status: 504}},
	},
}

// mirrors: a copy reaches the other backend, and the answer is the first one's.
func (s *stage) mirrors(t *testing.T) {
	mirror := func(fields string) string {
		return "    - {type: RequestMirror, requestMirror: {" + fields + "}}\n"
	}
	s.write(t, "mirror.yaml", route("mirror", "http", "mirror"+domain, "  - filters:\n"+
		mirror("backendRef: {name: blue, port: 80}")+mirror("percent: 0, backendRef: {name: green, port: 80}")+"    "+to("red")))
	s.eventually(t, "mirror", func(ctx context.Context) error { return s.try(ctx, "mirror"+domain, try{from: "red"}) })
	before, unasked := s.blue.Requests(), s.green.Requests()
	for range 5 {
		if err := s.try(t.Context(), "mirror"+domain, try{from: "red"}); err != nil {
			t.Error(err)
		}
	}
	s.eventually(t, "the mirror is asked", func(context.Context) error {
		if n := s.blue.Requests() - before; n < 5 {
			return fmt.Errorf("the mirror saw %d requests, want 5", n)
		}
		return nil
	})
	if n := s.green.Requests() - unasked; n != 0 {
		t.Errorf("a mirror of nothing saw %d requests", n)
	}
}

// retries: the backend is asked as often as the rule says.
func (s *stage) retries(t *testing.T) {
	s.write(t, "retry.yaml", route("retry", "http", "retry"+domain, "  - retry: {codes: [503], attempts: 3, backoff: 1ms}\n    "+to("red")))
	s.eventually(t, "retry", func(ctx context.Context) error { return s.try(ctx, "retry"+domain, try{from: "red"}) })
	for status, want := range map[int]int64{503: 4, 502: 1, 200: 1} {
		before := s.red.Requests()
		if err := s.try(t.Context(), "retry"+domain, try{header: fmt.Sprintf("X-Answer-Status: %d", status), status: status}); err != nil {
			t.Error(err)
		}
		if n := s.red.Requests() - before; n != want {
			t.Errorf("status %d: the backend was asked %d times, want %d", status, n, want)
		}
	}
}
