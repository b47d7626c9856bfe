package e2e

import "fmt"

// filters are the header modifiers, on rules and on backends.
var filters = []story{
	{
		name: "request headers", host: "reqhead",
		rules: `  - filters:
    - type: RequestHeaderModifier
      requestHeaderModifier:
        set: [{name: X-Set, value: new}, {name: X-Fresh, value: made}]
        add: [{name: X-Add, value: more}, {name: X-Mark, value: rule}]
        remove: [X-Gone]
    ` + to("red"),
		tries: []try{
			{from: "red", marks: "rule", with: "X-Set: new; X-Fresh: made; X-Add: more"},
			{header: "X-Set: old; X-Add: first; X-Gone: yes; X-Stay: here", with: "X-Set: new; X-Add: first,more; X-Gone: ; X-Stay: here"},
		},
	},
	{
		name: "response headers", host: "resphead",
		rules: `  - filters:
    - type: ResponseHeaderModifier
      responseHeaderModifier:
        set: [{name: X-Set, value: new}]
        add: [{name: X-Add, value: more}]
        remove: [X-Gone]
    ` + to("red"),
		tries: []try{
			{from: "red", reply: "X-Set: new; X-Add: more"},
			{header: "X-Echo-X-Set: old; X-Echo-X-Add: first; X-Echo-X-Gone: yes; X-Echo-X-Stay: here", reply: "X-Set: new; X-Add: first,more; X-Gone: ; X-Stay: here"},
		},
	},
	{
		name: "headers of one backend's share", host: "sharehead",
		rules: `  - backendRefs:
    - name: red
      port: 80
      filters:
      - type: RequestHeaderModifier
        requestHeaderModifier: {add: [{name: X-Mark, value: share}], set: [{name: X-Share, value: red}]}
      - type: ResponseHeaderModifier
        responseHeaderModifier: {set: [{name: X-Reply, value: red}]}
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {add: [{name: X-Also, value: rule}]}`,
		tries: []try{{from: "red", marks: "share", with: "X-Share: red; X-Also: rule", reply: "X-Reply: red"}},
	},
}

// redirects are every status and every form.
var redirects = append(statuses(), []story{
	{
		name: "redirect scheme", host: "toscheme", rules: redirect(`{scheme: https}`),
		tries: []try{{path: "/a?x=1", status: 302, reply: "Location: https://toscheme.e2e.test/a?x=1"}},
	},
	{
		name: "redirect host", host: "tohost", rules: redirect(`{scheme: http, hostname: elsewhere.test}`),
		tries: []try{{path: "/a/b", status: 302, reply: "Location: http://elsewhere.test/a/b"}},
	},
	{
		name: "redirect port", host: "toport", rules: redirect(`{port: 8443, scheme: https}`),
		tries: []try{{path: "/a", status: 302, reply: "Location: https://toport.e2e.test:8443/a"}},
	},
	{
		name: "redirect to the well-known port leaves it out", host: "to443", rules: redirect(`{port: 443, scheme: https}`),
		tries: []try{{path: "/a", status: 302, reply: "Location: https://to443.e2e.test/a"}},
	},
	{
		name: "redirect whole path", host: "topath", rules: redirect(`{scheme: https, path: {type: ReplaceFullPath, replaceFullPath: /new}}`),
		tries: []try{{path: "/old/path?x=1", status: 302, reply: "Location: https://topath.e2e.test/new?x=1"}},
	},
	{
		name: "redirect prefix of the path", host: "toprefix",
		rules: `  - matches: [{path: {type: PathPrefix, value: /old}}]
    filters:
    - type: RequestRedirect
      requestRedirect: {scheme: https, path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}`,
		tries: []try{
			{path: "/old/deep/er", status: 302, reply: "Location: https://toprefix.e2e.test/new/deep/er"},
			{path: "/old", status: 302, reply: "Location: https://toprefix.e2e.test/new"},
			{path: "/older", status: 404},
		},
	},
	{
		name: "redirect everything at once", host: "toall",
		rules: redirect(`{scheme: https, hostname: elsewhere.test, port: 8443, statusCode: 308, path: {type: ReplaceFullPath, replaceFullPath: /all}}`),
		tries: []try{{path: "/x", status: 308, reply: "Location: https://elsewhere.test:8443/all"}},
	},
}...)

// statuses is a redirect with each status.
func statuses() []story {
	var all []story
	for _, code := range []int{301, 302, 303, 307, 308} {
		all = append(all, story{
			name: fmt.Sprintf("redirect status %d", code), host: fmt.Sprintf("r%d", code),
			rules: redirect(fmt.Sprintf(`{scheme: https, statusCode: %d}`, code)),
			tries: []try{{path: "/x", status: code, reply: fmt.Sprintf("Location: https://r%d.e2e.test/x", code)}},
		})
	}
	return all
}

func redirect(fields string) string {
	return `  - filters:
    - type: RequestRedirect
      requestRedirect: ` + fields
}

// rewrites are every form of the rewrite.
var rewrites = []story{
	{
		name: "rewrite host", host: "rewrite-host",
		rules: rewrite("/", `{hostname: inside.test}`),
		tries: []try{{path: "/a", from: "red", seen: "/a", asHost: "inside.test"}},
	},
	{
		name: "rewrite whole path", host: "rewrite-full",
		rules: rewrite("/old", `{path: {type: ReplaceFullPath, replaceFullPath: /new}}`),
		tries: []try{{path: "/old/x?y=1", from: "red", seen: "/new?y=1", asHost: "rewrite-full.e2e.test"}},
	},
	{
		name: "rewrite prefix", host: "rewrite-prefix",
		rules: rewrite("/old", `{path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}`),
		tries: []try{
			{path: "/old/x/y?z=1", from: "red", seen: "/new/x/y?z=1"},
			{path: "/old", from: "red", seen: "/new"},
			{path: "/old/", from: "red", seen: "/new/"},
			{path: "/older", status: 404},
		},
	},
	{
		name: "rewrite prefix to nothing", host: "rewrite-root",
		rules: rewrite("/strip", `{path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}`),
		tries: []try{
			{path: "/strip/x", from: "red", seen: "/x"},
			{path: "/strip", from: "red", seen: "/"},
			{path: "/strip/", from: "red", seen: "/"},
		},
	},
	{
		name: "rewrite host and path, with a header", host: "rewrite-both",
		rules: `  - matches: [{path: {type: PathPrefix, value: /one}}]
    filters:
    - {type: URLRewrite, urlRewrite: {hostname: inside.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /two}}}
    - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Mark, value: both}]}}
    ` + to("red"),
		tries: []try{{path: "/one/x", from: "red", seen: "/two/x", asHost: "inside.test", marks: "both"}},
	},
}

func rewrite(prefix, fields string) string {
	return fmt.Sprintf(`  - matches: [{path: {type: PathPrefix, value: %s}}]
    filters: [{type: URLRewrite, urlRewrite: %s}]
    %s`, prefix, fields, to("red"))
}
