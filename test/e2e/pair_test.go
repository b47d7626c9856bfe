package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// edit is a filter that adds a mark, or sets the answer's X-Reply.
func edit(mark string) string {
	return fmt.Sprintf("{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: X-Mark, value: %s}]}}, "+
		"{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-Reply, value: %[1]s}]}}", mark)
}

// pairs are features that meet in one rule, or on one host.
var pairs = []story{
	{
		name: "edits of a rule come before those of a backend", host: "inorder",
		rules: "  - filters: [" + edit("rule") + "]\n    backendRefs: [{name: red, port: 80, filters: [" + edit("share") + "]}]",
		tries: []try{{from: "red", marks: "rule,share", reply: "X-Reply: share"}},
	},
	{
		name: "a redirect of a backend with edits of answers", host: "redirectedit",
		rules: "  - filters: [" + edit("rule") + "]\n    backendRefs: [{name: red, port: 80, filters: [{type: RequestRedirect, requestRedirect: {scheme: https, hostname: elsewhere.test}}]}]",
		tries: []try{{path: "/x", status: 302, reply: "Location: https://elsewhere.test/x; X-Reply: rule"}},
	},
	{
		name: "a rewrite of a backend lies over that of its rule", host: "overwrite",
		rules: `  - matches: [{path: {value: /old}}]
    filters: [{type: URLRewrite, urlRewrite: {hostname: rule.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]
    backendRefs: [{name: red, port: 80, filters: [{type: URLRewrite, urlRewrite: {hostname: share.test}}]}]`,
		tries: []try{{path: "/old/x?y=1", from: "red", seen: "/new/x?y=1", asHost: "share.test"}},
	},
	{
		name: "CORS and retries", host: "corsretry",
		rules: `  - filters: [{type: CORS, cors: {allowOrigins: ["https://a.test"], allowMethods: [GET]}}]
    retry: {codes: [503], attempts: 1}
    ` + to("red"),
		tries: []try{
			{method: "OPTIONS", header: "Origin: https://a.test; Access-Control-Request-Method: GET", reply: "Access-Control-Allow-Origin: https://a.test; X-Backend: "},
			{header: "Origin: https://a.test; X-Answer-Status: 503", status: 503, from: "red", reply: "Access-Control-Allow-Origin: https://a.test"},
		},
	},
	{
		name: "a timeout ends retries", host: "timedretry",
		rules: "  - timeouts: {request: 500ms, backendRequest: 200ms}\n    retry: {attempts: 100, codes: [503]}\n    " + to("red"),
		tries: []try{{from: "red"}, {header: "X-Answer-Delay: 10s", status: 504}},
	},
	{
		name: "match, rewrite, edit and a path that is normalized", host: "normal",
		rules: `  - name: deep
    matches: [{path: {value: /a/b}, method: PUT, headers: [{name: X-Kind, value: big}], queryParams: [{name: q, value: "1"}]}]
    filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}, ` + edit("deep") + `]
    ` + to("red") + `
  - name: rest
    filters: [` + edit("rest") + `]
    ` + to("green"),
		tries: []try{
			{method: "PUT", path: "/x/../a//b/c?q=1", header: "X-Kind: big", from: "red", seen: "/c?q=1", marks: "deep"},
			{method: "PUT", path: "/a/b/c?q=2", header: "X-Kind: big", from: "green", marks: "rest"},
			{path: "/a/b/c?q=1", header: "X-Kind: big", from: "green", marks: "rest"},
		},
	},
	{
		name: "parentRef with name and port", host: "bothnames",
		yaml: strings.Replace(route("bothnames", "http", "bothnames"+domain, "  - "+to("blue")), "sectionName: http", "sectionName: http, port: @HTTP@", 1) + "\n---\n" +
			strings.Replace(route("bothwrong", "http", "bothwrong"+domain, "  - "+to("blue")), "sectionName: http", "sectionName: http, port: @HTTPS@", 1),
		tries: []try{{from: "blue"}, {host: "bothwrong.e2e.test", status: 404}},
	},
	{
		name: "a GRPCRoute and an HTTPRoute on one host", host: "mixed",
		yaml: route("mixed", "http", "mixed"+domain, "  - "+to("red")) + `
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: mixed, namespace: e2e}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [mixed.e2e.test]
  rules: [{matches: [{method: {service: shop.Cart}}], backendRefs: [{name: nowhere, port: 80}]}]
`,
		tries: []try{
			{path: "/shop.Cart/Add", from: "red"},
			{method: "POST", path: "/shop.Cart/Add", header: "Content-Type: application/grpc", reply: "Grpc-Status: 14"},
			{method: "POST", path: "/shop.Other/Add", header: "Content-Type: application/grpc", from: "red"},
		},
	},
}

// pairsCounted are pairs with a share of requests: each share has its own rewrite,
// redirect or mirror, and its mark, and a missing backend takes its part.
func (s *stage) pairsCounted(t *testing.T) {
	const n = 200
	host := "shares" + domain
	s.write(t, "shares.yaml", route("shares", "http", host, `  - matches: [{path: {value: /in}}]
    filters: [{type: RequestMirror, requestMirror: {backendRef: {name: blue, port: 80}}}]
    backendRefs:
    - {name: red, port: 80, weight: 2, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /red}}}, `+edit("red")+`]}
    - {name: green, port: 80, weight: 2, filters: [{type: URLRewrite, urlRewrite: {hostname: green.test}}, `+edit("green")+`]}
    - {name: nowhere, port: 80, weight: 1, filters: [`+edit("nowhere")+`]}
`))
	s.eventually(t, "the route is there", func(ctx context.Context) error {
		if s.try(ctx, host, try{path: "/in/x", status: http.StatusNotFound}) == nil {
			return fmt.Errorf("no route for %s yet", host)
		}
		return nil
	})
	counts, copied := map[string]int{}, s.blue.Requests()
	client := rig.NewClient(rig.Request{Port: s.http})
	defer client.Close()
	for range n {
		got, err := client.Do(t.Context(), rig.Request{Port: s.http, Host: host, Path: "/in/x"})
		if err != nil {
			t.Fatal(err)
		}
		a := got.Answer
		counts[fmt.Sprintf("%d %s %s %s %s", got.Status, a.Backend, a.Path, a.Host, strings.Join(a.Marks, ","))]++
	}
	for who, least := range map[string]int{"200 red /red/x shares.e2e.test red": 50, "200 green /in/x green.test green": 50, "500    ": 15} {
		if counts[who] < least || counts[who] > n*3/5 {
			t.Errorf("%d of %d answers are %q: %v", counts[who], n, who, counts)
		}
	}
	if len(counts) != 3 {
		t.Errorf("answers are of %d kinds, want 3: %v", len(counts), counts)
	}
	s.eventually(t, "copies of all that was forwarded arrive", func(context.Context) error {
		if got, want := s.blue.Requests()-copied, int64(n-counts["500    "]); got < want {
			return fmt.Errorf("the mirror saw %d requests, want %d", got, want)
		}
		return nil
	})
}

// webSocket: an upgrade passes a rule that edits, and messages flow both ways after it.
func (s *stage) webSocket(t *testing.T) {
	port := strings.Replace(pair("e2e", "socket", str(s.red.Addr.Port())), "port: 80}", "port: 80, appProtocol: kubernetes.io/ws}", 1)
	s.write(t, "socket.yaml", port+route("socket", "http", "socket"+domain, "  - filters: ["+edit("socket")+"]\n    "+to("socket")))
	s.eventually(t, "the route is there", func(ctx context.Context) error { return s.there(ctx, "socket"+domain) })
	talk := must(rig.OpenSocket(t.Context(), s.http, "socket"+domain, "/chat"))(t)
	defer func() { _ = talk.Close() }()
	for _, message := range []string{"ping", "pong"} {
		if answer, err := talk.Say(message); err != nil || answer != "red socket" {
			t.Errorf("%s is answered by %q, %v; want red with the mark of the rule", message, answer, err)
		}
	}
}
