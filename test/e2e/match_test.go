package e2e

import "fmt"

// matches are the kinds of match.
var matches = []story{
	{
		name: "path exact", host: "exact",
		rules: `  - matches: [{path: {type: Exact, value: /one}}]
    ` + to("red"),
		tries: []try{
			{path: "/one", from: "red", seen: "/one"},
			{path: "/one?x=1", from: "red", seen: "/one?x=1"},
			{path: "/one/", status: 404},
			{path: "/one/two", status: 404},
			{path: "/One", status: 404},
			{path: "/", status: 404},
		},
	},
	{
		name: "path prefix", host: "prefix",
		rules: `  - matches: [{path: {type: PathPrefix, value: /a}}]
    ` + to("red") + `
  - matches: [{path: {type: PathPrefix, value: /slash/}}]
    ` + to("green"),
		tries: []try{
			{path: "/a", from: "red"},
			{path: "/a/", from: "red"},
			{path: "/a/b/c?q=/x", from: "red", seen: "/a/b/c?q=/x"},
			{path: "/ab", status: 404},
			{path: "/slash", from: "green"},
			{path: "/slash/x", from: "green"},
			{path: "/slashes", status: 404},
		},
	},
	{
		name: "path regular expression", host: "regex",
		rules: `  - matches: [{path: {type: RegularExpression, value: "/v[0-9]+/(items|users)"}}]
    ` + to("blue"),
		tries: []try{
			{path: "/v1/items", from: "blue"},
			{path: "/v22/users?x=1", from: "blue"},
			{path: "/v1/items/3", status: 404},
			{path: "/v/items", status: 404},
			{path: "/x/v1/items", status: 404},
		},
	},
	{
		name: "headers", host: "header",
		rules: `  - matches: [{headers: [{name: X-Tier, value: gold}]}]
    ` + to("red") + `
  - matches: [{headers: [{name: x-tier, type: RegularExpression, value: "silver-[0-9]+"}]}]
    ` + to("green") + `
  - matches: [{headers: [{name: X-One, value: "1"}, {name: X-Two, value: "2"}]}]
    ` + to("blue"),
		tries: []try{
			{header: "X-Tier: gold", from: "red"},
			{header: "x-tier: gold", from: "red"},
			{header: "X-Tier: Gold", status: 404},
			{header: "X-Tier: golden", status: 404},
			{header: "X-Tier: silver-7", from: "green"},
			{header: "X-Tier: silver-7x", status: 404},
			{header: "X-One: 1; X-Two: 2", from: "blue"},
			{header: "X-One: 1", status: 404},
			{status: 404},
		},
	},
	{
		name: "query parameters", host: "query",
		rules: `  - matches: [{queryParams: [{name: animal, value: whale}]}]
    ` + to("red") + `
  - matches: [{queryParams: [{name: animal, type: RegularExpression, value: "dol.*"}]}]
    ` + to("green") + `
  - matches: [{queryParams: [{name: a, value: "1"}, {name: b, value: "2"}]}]
    ` + to("blue"),
		tries: []try{
			{path: "/?animal=whale", from: "red"},
			{path: "/x?y=z&animal=whale", from: "red"},
			{path: "/?animal=dolphin", from: "green"},
			{path: "/?animal=Whale", status: 404},
			{path: "/?Animal=whale", status: 404},
			{path: "/?a=1&b=2", from: "blue"},
			{path: "/?b=2&c=3&a=1", from: "blue"},
			{path: "/?a=1", status: 404},
		},
	},
	{
		name: "method", host: "method",
		rules: `  - matches: [{method: POST}]
    ` + to("red") + `
  - matches: [{method: DELETE, path: {type: PathPrefix, value: /d}}]
    ` + to("green"),
		tries: []try{
			{method: "POST", from: "red"},
			{method: "DELETE", path: "/d/1", from: "green"},
			{method: "DELETE", path: "/e", status: 404},
			{method: "GET", status: 404},
		},
	},
	{
		name: "matches of one rule are alternatives, fields of one match are not", host: "anyof",
		rules: `  - matches:
    - {path: {type: PathPrefix, value: /a}, headers: [{name: V, value: "2"}]}
    - {path: {type: PathPrefix, value: /v2/a}}
    ` + to("red"),
		tries: []try{
			{path: "/v2/a", from: "red"},
			{path: "/a", header: "V: 2", from: "red"},
			{path: "/a", status: 404},
			{path: "/b", header: "V: 2", status: 404},
		},
	},
	{
		name: "no match is every request", host: "every", rules: `  - ` + to("red"),
		tries: []try{{path: "/anything", from: "red"}, {method: "PUT", from: "red"}},
	},
}

// precedences are what the specification says of several matches.
var precedences = []story{
	{
		name: "exact before longer prefix before shorter", host: "order",
		rules: `  - matches: [{path: {type: PathPrefix, value: /}}]
    ` + to("red") + `
  - matches: [{path: {type: PathPrefix, value: /a/b}}]
    ` + to("green") + `
  - matches: [{path: {type: Exact, value: /a/b/c}}]
    ` + to("blue") + `
  - matches: [{path: {type: PathPrefix, value: /a}}]
    ` + to("red"),
		tries: []try{
			{path: "/a/b/c", from: "blue"},
			{path: "/a/b/c/d", from: "green"},
			{path: "/a/b", from: "green"},
			{path: "/a/x", from: "red"},
			{path: "/", from: "red"},
		},
	},
	{
		name: "method before headers before query parameters", host: "detail",
		rules: `  - matches: [{queryParams: [{name: q, value: "1"}]}]
    ` + to("red") + `
  - matches: [{headers: [{name: H, value: "1"}]}]
    ` + to("green") + `
  - matches: [{method: PUT}]
    ` + to("blue"),
		tries: []try{
			{method: "PUT", path: "/?q=1", header: "H: 1", from: "blue"},
			{path: "/?q=1", header: "H: 1", from: "green"},
			{path: "/?q=1", from: "red"},
		},
	},
	{
		name: "more headers before fewer, more parameters before fewer", host: "more",
		rules: `  - matches: [{headers: [{name: A, value: "1"}]}]
    ` + to("red") + `
  - matches: [{headers: [{name: A, value: "1"}, {name: B, value: "1"}]}]
    ` + to("green") + `
  - matches: [{queryParams: [{name: a, value: "1"}]}]
    ` + to("red") + `
  - matches: [{queryParams: [{name: a, value: "1"}, {name: b, value: "1"}]}]
    ` + to("blue"),
		tries: []try{
			{header: "A: 1; B: 1", from: "green"},
			{header: "A: 1", from: "red"},
			{path: "/?a=1&b=1", from: "blue"},
		},
	},
	{
		name: "a longer path beats a method", host: "longer",
		rules: `  - matches: [{method: GET, path: {type: PathPrefix, value: /a}}]
    ` + to("red") + `
  - matches: [{path: {type: PathPrefix, value: /a/b}}]
    ` + to("green"),
		tries: []try{{path: "/a/b", from: "green"}, {path: "/a/c", from: "red"}},
	},
	{
		name: "the first of equal rules wins", host: "first",
		rules: `  - matches: [{path: {type: PathPrefix, value: /a}}]
    ` + to("red") + `
  - matches: [{path: {type: PathPrefix, value: /a}}]
    ` + to("green"),
		tries: []try{{path: "/a", from: "red"}},
	},
	{
		name: "the older of equal routes wins, then the name", host: "ties",
		yaml: aged("ties-a", "2024-02-02T00:00:00Z", "/age", "green") + "---\n" +
			aged("ties-b", "2024-01-01T00:00:00Z", "/age", "red") + "---\n" +
			aged("ties-d", "2024-01-01T00:00:00Z", "/name", "green") + "---\n" +
			aged("ties-c", "2024-01-01T00:00:00Z", "/name", "blue"),
		tries: []try{{path: "/age", from: "red"}, {path: "/name", from: "blue"}},
	},
	{
		name: "rules of several routes are ordered together", host: "both",
		yaml: route("both-1", "http", "both"+domain, `  - matches: [{path: {type: PathPrefix, value: /}}]
    `+to("red")) + "\n---\n" + route("both-2", "http", "both"+domain, `  - matches: [{path: {type: PathPrefix, value: /deep}}]
    `+to("green")),
		tries: []try{{path: "/deep/er", from: "green"}, {path: "/x", from: "red"}},
	},
}

// aged is a route of host ties that was created at a time.
func aged(name, created, path, backend string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: e2e, creationTimestamp: "%s"}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [ties%s]
  rules:
  - matches: [{path: {type: Exact, value: %s}}]
    %s
`, name, created, domain, path, to(backend))
}
