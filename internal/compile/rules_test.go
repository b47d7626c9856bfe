package compile

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

const oneService = "kind: Service\nmetadata: {name: one, namespace: shop}\nspec: {ports: [{port: 80}]}"

func TestFiltersOfARule(t *testing.T) {
	const to = "backendRefs: [{name: one, port: 80}]"
	for _, c := range []struct {
		name string
		rule string
		want model.Route // what of it counts
	}{
		{
			"header edits at rule and backend", "{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-A, value: a}, {name: x-a, value: b}], add: [{name: B, value: c}], remove: [C, c]}}], backendRefs: [{name: one, port: 80, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: D, value: d}]}}]}]}",
			model.Route{
				Filters: model.Filters{Request: model.HeaderEdit{Set: []model.Header{{Name: "x-a", Value: "a"}}, Add: []model.Header{{Name: "b", Value: "c"}}, Remove: []string{"c"}}},
				Forward: &model.Forward{Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1, Filters: model.Filters{Response: model.HeaderEdit{Set: []model.Header{{Name: "d", Value: "d"}}}}}}},
			},
		},
		{
			"a rewrite", "{filters: [{type: URLRewrite, urlRewrite: {hostname: b.example, path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}], " + to + "}",
			model.Route{
				Rewrite: &model.Rewrite{Hostname: "b.example", Path: &model.PathEdit{Prefix: true, Value: "/b"}},
				Forward: &model.Forward{Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1}}},
			},
		},
		{
			"a redirect", "{filters: [{type: RequestRedirect, requestRedirect: {scheme: https, hostname: b.example, statusCode: 308, path: {type: ReplaceFullPath, replaceFullPath: /b}}}]}",
			model.Route{Redirect: &model.Redirect{Scheme: "https", Hostname: "b.example", Status: 308, Path: &model.PathEdit{Value: "/b"}}},
		},
		{
			"a redirect to the listener's own port", "{filters: [{type: RequestRedirect, requestRedirect: {hostname: b.example}}]}",
			model.Route{Redirect: &model.Redirect{Hostname: "b.example", Port: 8080, Status: 302}},
		},
		{
			"a timeout of the whole and of each try", "{timeouts: {request: 10s, backendRequest: 1500ms}, " + to + "}",
			model.Route{Forward: &model.Forward{Timeout: 10 * time.Second, TryTimeout: 1500 * time.Millisecond, Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1}}}},
		},
		{
			"retries", "{retry: {codes: [503, 500, 503], attempts: 3, backoff: 250ms}, " + to + "}",
			model.Route{Forward: &model.Forward{Retry: &model.Retry{Attempts: 3, Codes: []uint32{500, 503}, Backoff: 250 * time.Millisecond}, Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1}}}},
		},
		{
			"retries that are off", "{retry: {attempts: 0}, " + to + "}",
			model.Route{Forward: &model.Forward{Retry: &model.Retry{}, Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1}}}},
		},
		{
			"mirrors", "{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: one, port: 80}}}, {type: RequestMirror, requestMirror: {percent: 5, backendRef: {name: one, port: 80}}}, {type: RequestMirror, requestMirror: {percent: 0, backendRef: {name: one, port: 80}}}, {type: RequestMirror, requestMirror: {fraction: {numerator: 1, denominator: 3}, backendRef: {name: one, port: 80}}}], " + to + "}",
			model.Route{
				Filters: model.Filters{Mirrors: []model.Mirror{{Cluster: "shop/one:80", Millionths: 1_000_000}, {Cluster: "shop/one:80", Millionths: 50_000}, {Cluster: "shop/one:80", Millionths: 333_333}}},
				Forward: &model.Forward{Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1}}},
			},
		},
		{
			"CORS", "{filters: [{type: CORS, cors: {allowOrigins: ['HTTPS://A.example:443', 'http://*.b.example:8080'], allowMethods: [GET], allowHeaders: [X-A, x-a], exposeHeaders: ['*'], allowCredentials: true}}], " + to + "}",
			model.Route{
				Filters: model.Filters{CORS: &model.CORS{Origins: []string{"https://a.example", "http://*.b.example:8080"}, Methods: []string{"GET"}, Headers: []string{"x-a"}, Expose: []string{"*"}, Credentials: true, MaxAge: 5 * time.Second}},
				Forward: &model.Forward{Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1}}},
			},
		},
		{
			"filters of one backend", "{backendRefs: [{name: one, port: 80, weight: 2, filters: [{type: URLRewrite, urlRewrite: {hostname: b.example}}, {type: RequestMirror, requestMirror: {backendRef: {name: one, port: 80}}}]}, {name: one, port: 80, filters: [{type: RequestRedirect, requestRedirect: {hostname: c.example}}]}]}",
			model.Route{Forward: &model.Forward{Backends: []model.WeightedBackend{
				{Cluster: "shop/one:80", Weight: 2, Rewrite: &model.Rewrite{Hostname: "b.example"}, Filters: model.Filters{Mirrors: []model.Mirror{{Cluster: "shop/one:80", Millionths: 1_000_000}}}},
				{Cluster: "shop/one:80", Weight: 1, Redirect: &model.Redirect{Hostname: "c.example", Port: 8080, Status: 302}},
			}}},
		},
		{
			"a session of each backend", "{sessionPersistence: {absoluteTimeout: 1h, cookie: {name: s}}, backendRefs: [{name: one, port: 80}, {name: one, port: 80, weight: 2}, {name: one, port: 80, filters: [{type: RequestRedirect, requestRedirect: {hostname: c.example}}]}]}",
			model.Route{Forward: &model.Forward{Backends: []model.WeightedBackend{
				{Cluster: "shop/one:80", Weight: 1, Session: &model.Session{Cookie: model.Cookie{Name: "s", Path: "/"}, Lifetime: time.Hour}},
				{Cluster: "shop/one:80", Weight: 2, Session: &model.Session{Cookie: model.Cookie{Name: "s-" + digest(model.ClusterID("shop/one:80")), Path: "/"}, Lifetime: time.Hour}},
				{Cluster: "shop/one:80", Weight: 1, Redirect: &model.Redirect{Hostname: "c.example", Port: 8080, Status: 302}},
			}}},
		},
		{
			"a timeout of 0 is none", "{timeouts: {request: 10s, backendRequest: 0s}, " + to + "}",
			model.Route{Forward: &model.Forward{Timeout: 10 * time.Second, Backends: []model.WeightedBackend{{Cluster: "shop/one:80", Weight: 1}}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, f, _ := oneRoute(t, c.rule, oneService)
			r.Name, r.Match, r.Origins = "", model.Match{}, nil
			equal(t, r, c.want)
			if !f.Serves || f.Failed {
				t.Errorf("serves %v, failed %v: %v", f.Serves, f.Failed, f.Steps)
			}
		})
	}
}

// A filter that cannot be applied is never skipped: its rule answers 500.
func TestFiltersThatFailClosed(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		accepted   string
		resolved   string
		reason     verdict.Reason
	}{
		{"a service in a protocol that is unknown", "{filters: [{type: ExternalAuth, externalAuth: {protocol: SPDY, backendRef: {name: one, port: 80}}}], backendRefs: [{name: one, port: 80}]}", "UnsupportedValue", "ResolvedRefs", verdict.UnsupportedValue},
		{"the path of a service", "{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: one, port: 80}, http: {path: /./a}}}], backendRefs: [{name: one, port: 80}]}", "UnsupportedValue", "ResolvedRefs", verdict.UnsupportedValue},
		{"a header for a service", "{filters: [{type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: one, port: 80}, grpc: {allowedHeaders: ['a b']}}}], backendRefs: [{name: one, port: 80}]}", "UnsupportedValue", "ResolvedRefs", verdict.UnsupportedValue},
		{"a body of less than nothing", "{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: one, port: 80}, forwardBody: {maxSize: -1}}}], backendRefs: [{name: one, port: 80}]}", "UnsupportedValue", "ResolvedRefs", verdict.UnsupportedValue},
		{"a service that is missing", "{filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: none, port: 80}}}], backendRefs: [{name: one, port: 80}]}", "Accepted", "BackendNotFound", verdict.BackendNotFound},
		{"a service that is missing before a redirect", "{filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}, {type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: none, port: 80}}}]}", "Accepted", "BackendNotFound", verdict.BackendNotFound},
		{"a service that is not permitted", "{filters: [{type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: one, namespace: other, port: 80}}}], backendRefs: [{name: one, port: 80}]}", "Accepted", "RefNotPermitted", verdict.RefNotPermitted},
		{"a kind of filter that is unknown", "{filters: [{type: Shiny}], backendRefs: [{name: one, port: 80}]}", "UnsupportedValue", "ResolvedRefs", verdict.UnsupportedValue},
		{"a reference to a filter that is unknown", "{filters: [{type: ExtensionRef, extensionRef: {group: example.net, kind: Thing, name: x}}], backendRefs: [{name: one, port: 80}]}", "Accepted", "InvalidKind", verdict.InvalidKind},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, f, _ := oneRoute(t, c.rule, oneService)
			equal(t, action(r), "500")
			equal(t, f.Status.Parents[0].Conditions[0].Reason, c.accepted)
			equal(t, f.Status.Parents[0].Conditions[1].Reason, c.resolved)
			if !f.Serves || f.Failed || !hasStep(f, verdict.WasExcluded, c.reason) && !hasStep(f, verdict.Warning, c.reason) {
				t.Errorf("serves %v, failed %v: %v", f.Serves, f.Failed, f.Steps)
			}
		})
	}
}

func TestValuesThatNothingIsSpecifiedFor(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		field      string
		reason     verdict.Reason
		failed     bool
	}{
		{"a path that RE2 refuses", "{matches: [{path: {type: RegularExpression, value: '/('}}]}", "spec.rules[0].matches[0].path.value", verdict.UnsupportedValue, true},
		{"a path of dots in escapes", "{matches: [{path: {value: /%2e%2E/a}}]}", "spec.rules[0].matches[0].path.value", verdict.UnsupportedValue, true},
		{"a path with an escaped backslash", "{matches: [{path: {type: Exact, value: /a%5cb}}]}", "spec.rules[0].matches[0].path.value", verdict.UnsupportedValue, true},
		{"a scheme", "{filters: [{type: RequestRedirect, requestRedirect: {scheme: ftp}}]}", "spec.rules[0].filters[0].requestRedirect.scheme", verdict.UnsupportedValue, true},
		{"a status", "{filters: [{type: RequestRedirect, requestRedirect: {statusCode: 304}}]}", "spec.rules[0].filters[0].requestRedirect.statusCode", verdict.UnsupportedValue, true},
		{"a timeout", "{timeouts: {request: soon}}", "spec.rules[0].timeouts.request", verdict.UnsupportedValue, true},
		{"the host as a header", "{filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Host, value: x}]}}]}", "spec.rules[0].filters[0].requestHeaderModifier.set[0].name", verdict.UnsupportedValue, true},
		{"a prefix replaced where none is matched", "{matches: [{path: {type: Exact, value: /a}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]}", "spec.rules[0].filters", verdict.IncompatibleFilters, false},
		{"a prefix replaced for one backend where none is matched", "{matches: [{path: {type: Exact, value: /a}}], backendRefs: [{name: one, port: 80, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}]}]}", "spec.rules[0].backendRefs[0].filters", verdict.IncompatibleFilters, false},
		{"a timeout longer than the one around it", "{timeouts: {request: 1s, backendRequest: 2s}}", "spec.rules[0].timeouts.backendRequest", verdict.UnsupportedValue, true},
		{"a code to retry", "{retry: {codes: [200]}}", "spec.rules[0].retry.codes[0]", verdict.UnsupportedValue, true},
		{"a number of retries", "{retry: {attempts: -1}}", "spec.rules[0].retry.attempts", verdict.UnsupportedValue, true},
		{"a pause between tries", "{retry: {backoff: later}}", "spec.rules[0].retry.backoff", verdict.UnsupportedValue, true},
		{"a percentage", "{filters: [{type: RequestMirror, requestMirror: {percent: 101, backendRef: {name: one, port: 80}}}]}", "spec.rules[0].filters[0].requestMirror.percent", verdict.UnsupportedValue, true},
		{"a fraction", "{filters: [{type: RequestMirror, requestMirror: {fraction: {numerator: 3, denominator: 2}, backendRef: {name: one, port: 80}}}]}", "spec.rules[0].filters[0].requestMirror.fraction", verdict.UnsupportedValue, true},
		{"an origin", "{filters: [{type: CORS, cors: {allowOrigins: [a.example]}}]}", "spec.rules[0].filters[0].cors.allowOrigins[0]", verdict.UnsupportedValue, true},
		{"the port of an origin", "{filters: [{type: CORS, cors: {allowOrigins: ['http://a.example:0']}}]}", "spec.rules[0].filters[0].cors.allowOrigins[0]", verdict.UnsupportedValue, true},
		{"everything beside a method", "{filters: [{type: CORS, cors: {allowMethods: ['*', GET]}}]}", "spec.rules[0].filters[0].cors.allowMethods", verdict.UnsupportedValue, true},
		{"a header that is no name", "{filters: [{type: CORS, cors: {allowHeaders: ['x y']}}]}", "spec.rules[0].filters[0].cors.allowHeaders[0]", verdict.UnsupportedValue, true},
		{"a session of half a second", "{sessionPersistence: {absoluteTimeout: 500ms, cookie: {}}}", "spec.rules[0].sessionPersistence.absoluteTimeout", verdict.UnsupportedValue, true},
		{"a session of no time", "{sessionPersistence: {absoluteTimeout: soon, cookie: {}}}", "spec.rules[0].sessionPersistence.absoluteTimeout", verdict.UnsupportedValue, true},
		{"a cookie that is kept for no time", "{sessionPersistence: {cookie: {lifetimeType: Permanent}}}", "spec.rules[0].sessionPersistence.absoluteTimeout", verdict.UnsupportedValue, true},
		{"the name of a cookie", "{sessionPersistence: {cookie: {name: 'a;b'}}}", "spec.rules[0].sessionPersistence.cookie.name", verdict.UnsupportedValue, true},
		{"the path of a cookie", "{sessionPersistence: {cookie: {path: 'a'}}}", "spec.rules[0].sessionPersistence.cookie.path", verdict.UnsupportedValue, true},
		{"no header for a session", "{sessionPersistence: {type: Header}}", "spec.rules[0].sessionPersistence.header", verdict.UnsupportedValue, true},
		{"a header that is not its own", "{sessionPersistence: {type: Header, header: {name: Cookie}}}", "spec.rules[0].sessionPersistence.header.name", verdict.UnsupportedValue, true},
		{"a header without a name", "{sessionPersistence: {type: Header, header: {name: 'a b'}}}", "spec.rules[0].sessionPersistence.header.name", verdict.UnsupportedValue, true},
		{"a mirror of what is redirected", "{filters: [{type: RequestRedirect, requestRedirect: {}}, {type: RequestMirror, requestMirror: {backendRef: {name: one, port: 80}}}]}", "spec.rules[0].filters", verdict.IncompatibleFilters, false},
		{"filters that exclude each other", "{filters: [{type: RequestRedirect, requestRedirect: {}}, {type: URLRewrite, urlRewrite: {hostname: b.example}}]}", "spec.rules[0].filters", verdict.IncompatibleFilters, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, f, _ := oneRoute(t, c.rule)
			equal(t, action(r), "none")
			accepted := f.Status.Parents[0].Conditions[0]
			equal(t, string(accepted.Status)+" "+accepted.Reason, "False "+c.reason.Name)
			if f.Serves || f.Failed != c.failed {
				t.Errorf("serves %v, failed %v: %v", f.Serves, f.Failed, f.Steps)
			}
			at := ""
			for _, s := range f.Steps {
				if s.Reason == c.reason.Name {
					at = s.Field
				}
			}
			equal(t, at, c.field)
		})
	}
}

// A partly invalid route drops its invalid rules and keeps the others.
func TestPartlyInvalidRoute(t *testing.T) {
	w := with(t, classYAML, edge, `
kind: HTTPRoute
metadata: {name: r, namespace: shop, generation: 4}
spec:
  parentRefs: [{name: edge}]
  hostnames: [a.example]
  rules:
  - {matches: [{path: {value: /good}}]}
  - {name: bad, matches: [{path: {type: RegularExpression, value: '/('}}, {path: {value: /also-gone}}]}
  - {matches: [{path: {value: /closed}}], filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {path: /..}, backendRef: {name: one, port: 80}}}]}
`)
	f := w.finding("HTTPRoute", "shop/r")
	equal(t, routesOf(w, "shop/edge/8080", "a.example"), []string{"shop/r /closed", "shop/r /good"})
	conditions := f.Status.Parents[0].Conditions
	equal(t, conditionText(conditions), "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs, PartiallyInvalid=True UnsupportedValue")
	if m := conditions[2].Message; !strings.HasPrefix(m, "Dropped Rule") || !strings.Contains(m, `"bad"`) || !strings.Contains(m, "spec.rules[2]") {
		t.Errorf("message %q", m)
	}
	if f.Failed || !hasStep(f, verdict.WasExcluded, verdict.UnsupportedValue) {
		t.Errorf("failed %v, steps %v", f.Failed, reasons(f))
	}
}

// What no proxy has is a warning; the rule serves.
func TestFieldsWithoutEffect(t *testing.T) {
	r, f, _ := oneRoute(t, "{sessionPersistence: {type: Header, absoluteTimeout: 1h, header: {name: X-S}}, backendRefs: [{name: one, port: 80}]}", oneService)
	equal(t, r.Forward.Backends[0].Session, &model.Session{Header: "x-s"})
	equal(t, reasons(f), []string{"ok Attached", "warning NoEffect"})
}

// A mirror that cannot be used is left out, and says so; requests pass.
func TestMirrorsThatCannotBeUsed(t *testing.T) {
	r, f, w := oneRoute(t, "{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: absent, port: 80}}}, {type: RequestMirror, requestMirror: {backendRef: {name: far, namespace: other, port: 80}}}, {type: RequestMirror, requestMirror: {backendRef: {name: two, port: 80}}}], backendRefs: [{name: one, port: 80}]}",
		oneService, strings.ReplaceAll(oneService, "one", "two"))
	equal(t, action(r), "shop/one:80*1")
	equal(t, r.Filters.Mirrors, []model.Mirror{{Cluster: "shop/two:80", Millionths: 1_000_000}})
	equal(t, conditionText(f.Status.Parents[0].Conditions), "Accepted=True Accepted, ResolvedRefs=False BackendNotFound")
	equal(t, reasons(f), []string{"ok Attached", "warning BackendNotFound", "warning RefNotPermitted"})
	equal(t, reasons(w.finding("Service", "shop/two")), []string{"ok Referenced"})
}
