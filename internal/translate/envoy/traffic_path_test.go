package envoy

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// pathCases are Gateway API's own table for ReplacePrefixMatch and what it
// leaves out: what becomes of a path, the same for rewrites and redirects.
var pathCases = []struct {
	match   model.Match
	edit    model.PathEdit
	request string
	want    string
}{
	{prefix("/foo"), replacePrefix("/xyz"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo"), replacePrefix("/xyz/"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo/"), replacePrefix("/xyz"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo/"), replacePrefix("/xyz/"), "/foo/bar", "/xyz/bar"},
	{prefix("/foo"), replacePrefix("/xyz"), "/foo", "/xyz"},
	{prefix("/foo"), replacePrefix("/xyz"), "/foo/", "/xyz/"},
	{prefix("/foo"), replacePrefix(""), "/foo/bar", "/bar"},
	{prefix("/foo"), replacePrefix(""), "/foo/", "/"},
	{prefix("/foo"), replacePrefix(""), "/foo", "/"},
	{prefix("/foo"), replacePrefix("/"), "/foo/", "/"},
	{prefix("/foo"), replacePrefix("/"), "/foo", "/"},

	{prefix("/foo"), replacePrefix("/"), "/foo/bar/", "/bar/"},
	{prefix("/foo"), replacePrefix("/"), "/foo?q=1", "/?q=1"},
	{prefix("/foo"), replacePrefix("/xyz"), "/foo?q=/foo", "/xyz?q=/foo"},
	{prefix("/foo"), replacePrefix("/xyz"), "/foo/foo/foo", "/xyz/foo/foo"},
	{prefix("/foo"), replacePrefix("/foo/foo"), "/foo/foo", "/foo/foo/foo"},
	{prefix("/a.b+c(d)"), replacePrefix("/"), "/a.b+c(d)/e", "/e"},
	{prefix("/"), replacePrefix("/xyz"), "/bar", "/xyz/bar"},
	{prefix("/"), replacePrefix("/xyz/"), "/bar/", "/xyz/bar/"},
	{prefix("/"), replacePrefix("/xyz"), "/", "/xyz/"},
	{prefix("/"), replacePrefix("/"), "/bar", "/bar"},
	{prefix("/"), replacePrefix(""), "/", "/"},
	{prefix("/foo"), replacePrefix("/x%25y"), "/foo/bar", "/x%25y/bar"},

	{prefix("/foo"), replaceFull("/xyz"), "/foo/bar?q=1", "/xyz?q=1"},
	{prefix("/"), replaceFull("/xyz/"), "/", "/xyz/"},
	{prefix("/foo"), replaceFull("/"), "/foo/bar", "/"},
	{prefix("/foo"), replaceFull(""), "/foo/bar", "/"},
	{exact("/foo"), replaceFull("/a%20b%25c"), "/foo", "/a%20b%25c"},
	{pattern("/f.*"), replaceFull("/xyz"), "/foo/bar", "/xyz"},
}

func replacePrefix(value string) model.PathEdit { return model.PathEdit{Prefix: true, Value: value} }

func replaceFull(value string) model.PathEdit { return model.PathEdit{Value: value} }

// hostOfCase gives each case a host of its own, so that one Envoy serves all.
func hostOfCase(i int) string { return fmt.Sprintf("case-%d.example", i) }

func TestPathRewrites(t *testing.T) {
	var hosts []model.VirtualHost
	for i, c := range pathCases {
		hosts = append(hosts, model.VirtualHost{Domain: hostOfCase(i), Routes: []model.Route{{
			Name: "r", Match: c.match, Forward: to("cart"), Rewrite: &model.Rewrite{Path: &c.edit},
		}}})
	}
	f := serve(t, plain(hosts, backends(t, "cart")))
	for i, c := range pathCases {
		got := f.ask(question{Host: hostOfCase(i), Path: c.request})
		path := got.Path
		if got.Query != "" {
			path += "?" + got.Query
		}
		if path != c.want {
			t.Errorf("match %q, edit %+v: %s reached the backend as %s (status %d), want %s", c.match.Path.Value, c.edit, c.request, path, got.Status, c.want)
		}
	}
}

func TestPathRedirects(t *testing.T) {
	var hosts []model.VirtualHost
	for i, c := range pathCases {
		hosts = append(hosts, model.VirtualHost{Domain: hostOfCase(i), Routes: []model.Route{{
			Name: "r", Match: c.match, Redirect: &model.Redirect{Status: 302, Path: &c.edit},
		}}})
	}
	f := serve(t, plain(hosts, nil))
	for i, c := range pathCases {
		got := f.ask(question{Host: hostOfCase(i), Path: c.request})
		if want := "http://" + hostOfCase(i) + c.want; got.Location != want {
			t.Errorf("match %q, edit %+v: %s redirects to %s (status %d), want %s", c.match.Path.Value, c.edit, c.request, got.Location, got.Status, want)
		}
	}
}

func TestRedirectTargets(t *testing.T) {
	cases := []struct {
		domain, host string
		redirect     model.Redirect
		want         string
	}{
		{"a.example", "a.example", model.Redirect{Status: 301}, "http://a.example/p?q"},
		{"a.example", "a.example:8080", model.Redirect{Status: 302}, "http://a.example:8080/p?q"},
		{"a.example", "a.example", model.Redirect{Status: 303, Scheme: "https"}, "https://a.example/p?q"},
		{"a.example", "a.example:8080", model.Redirect{Status: 307, Scheme: "https"}, "https://a.example/p?q"},
		{"*.example", "b.c.example:8080", model.Redirect{Status: 308, Scheme: "https"}, "https://b.c.example/p?q"},
		{"*", "a.test:80", model.Redirect{Status: 301, Scheme: "https"}, "https://a.test/p?q"},
		{"*", "[::1]:8080", model.Redirect{Status: 301, Scheme: "https"}, "https://[::1]/p?q"},
		{"*", "a.test", model.Redirect{Status: 301, Scheme: "https", Path: new(replaceFull("/x:80/y"))}, "https://a.test/x:80/y?q"},
		{"*", "a.test:8080", model.Redirect{Status: 301, Scheme: "https", Port: 8443}, "https://a.test:8443/p?q"},
		{"*", "a.test:8080", model.Redirect{Status: 301, Port: 81}, "http://a.test:81/p?q"},
		{"*", "a.test:8080", model.Redirect{Status: 301, Hostname: "b.test"}, "http://b.test/p?q"},
		{"*", "a.test:8080", model.Redirect{Status: 301, Hostname: "b.test", Port: 8443, Scheme: "https"}, "https://b.test:8443/p?q"},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			f := serve(t, plain([]model.VirtualHost{{Domain: c.domain, Routes: []model.Route{
				{Name: "r", Match: prefix("/"), Redirect: &c.redirect},
			}}}, nil))
			got := f.ask(question{Host: c.host, Path: "/p?q"})
			if got.Location != c.want || got.Status != int(c.redirect.Status) {
				t.Errorf("%s: %d %s, want %d %s", c.host, got.Status, got.Location, c.redirect.Status, c.want)
			}
		})
	}
}

// TestSpellingsOfPaths: what compile brings paths of matches into is what requests have
// when they are matched.
func TestSpellingsOfPaths(t *testing.T) {
	hosts := []model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "1", Match: exact("/A~-_.9"), Forward: to("plain")},
		{Name: "2", Match: exact("/caf%C3%A9%20a%2541"), Forward: to("escaped")},
		{Name: "3", Match: exact("/a"), Forward: to("dots")},
		{Name: "4", Match: prefix("/"), Forward: to("rest")},
	}}}
	f := serve(t, plain(hosts, backends(t, "plain", "escaped", "dots", "rest")))
	for path, want := range map[string]string{
		"/A~-_.9": "plain", "/%41%7e%2D%5f%2E%39": "plain", "/%2541~-_.9": "rest",
		"/caf%C3%A9%20a%2541": "escaped", "/c%61f%C3%A9%20%61%2541": "escaped", "/caf%C3%A9%20aA": "rest",
		"/%2e%2e/a": "dots", "/x/%2E%2e/%2e/a": "dots", "/x/..%2e/a": "rest",
	} {
		if got := f.ask(question{Path: path}); got.Status != 200 || got.Backend != want {
			t.Errorf("%s: status %d of %q, want 200 of %q", path, got.Status, got.Backend, want)
		}
	}
	if got := f.ask(question{Path: "/x%5cy"}); got.Status != 307 || got.Location != "/x/y" {
		t.Errorf("an escaped backslash: status %d to %q, want 307 to /x/y", got.Status, got.Location)
	}
}
