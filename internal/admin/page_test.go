package admin_test

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/admin"
	"github.com/gatehouse-proxy/gatehouse/internal/admin/admintest"
)

func TestPage(t *testing.T) {
	body := ask(t, "/").Body.String()
	for _, want := range []string{
		"shop/edge", "127.0.0.1:8443", "PortUnavailable", "examples/shop/search.yaml:18", "behind 2 resources for 3.1s",
		`href="/why/httproute/shop/search"`, `href="http://127.0.0.1:19001/metrics"`, "<b>33</b>objects",
		"generation 1 keeps serving", "rejected since 2026-11-29 15:00:00 UTC",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	wellFormed(t, body)
}

// TestPageOfManyProblems: ten thousand broken documents are a page, not a flood.
func TestPageOfManyProblems(t *testing.T) {
	r := admintest.Shop()
	r.Page.Attention = slices.Repeat(r.Page.Attention[:1], 10_000)
	body := askOf(t, r, "/").Body.String()
	if n := strings.Count(body, "InvalidRegularExpression"); n != 200 || !strings.Contains(body, "and 9800 more") {
		t.Errorf("%d problems are shown", n)
	}
}

func TestEmptyPage(t *testing.T) {
	body := askOf(t, new(admintest.Reporter), "/").Body.String()
	if !strings.Contains(body, "No Gateway is served.") || !strings.Contains(body, "Every object is serving.") {
		t.Error(body)
	}
	wellFormed(t, body)
}

func TestWhyPage(t *testing.T) {
	body := ask(t, "/why/httproute/shop/checkout").Body.String()
	if !strings.Contains(body, "spec.rules[1].backendRefs[0]") || !strings.Contains(body, "RouteConfiguration") {
		t.Error(body)
	}
	wellFormed(t, body)
	body = ask(t, "/why/httproute/shop/checkuot").Body.String()
	if !strings.Contains(body, "It was never seen.") || !strings.Contains(body, "shop/checkout") {
		t.Error(body)
	}
	wellFormed(t, body)
}

// TestPageEscapes: what users write into objects is text on the page.
func TestPageEscapes(t *testing.T) {
	r := admintest.Shop()
	r.Page.Attention[0].Message = `<script>alert(1)</script>`
	r.Page.Attention[0].Name = `shop/"><img src=x>`
	r.Page.Gateways[0].Listeners[0].Hostname = `</style><script>`
	body := askOf(t, r, "/").Body.String()
	if strings.Contains(body, "<script") || strings.Contains(body, "<img") {
		t.Error(body)
	}
	wellFormed(t, body)
}

// TestPageShowsControlCharacters: they are written out, as the command line does.
func TestPageShowsControlCharacters(t *testing.T) {
	r := admintest.Shop()
	r.Page.Attention[0].Message = "\x1b]0;title\x07 a\u202eb \u009b31m\r\x00"
	r.All[0].Steps[0].Message = "\x1b[31mred"
	body := askOf(t, r, "/").Body.String() + askOf(t, r, "/why/"+r.All[0].Object.Kind+"/"+r.All[0].Object.Namespace+"/"+r.All[0].Object.Name).Body.String()
	if strings.ContainsAny(body, "\x1b\x07\u202e\u009b\r\x00") {
		t.Errorf("control characters are on the page: %q", body)
	}
	for _, want := range []string{`\x1b]0;title\x07 a\u202eb \x9b31m`, `\x1b[31mred`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestPageNeedsNoNetwork: everything is in the page, and the browser is told to
// load nothing else.
func TestPageNeedsNoNetwork(t *testing.T) {
	w := ask(t, "/")
	if found := regexp.MustCompile(`(?i)<(script|link|img|iframe)|@import|url\(|\son[a-z]+=`).FindString(w.Body.String()); found != "" {
		t.Errorf("the page has %q", found)
	}
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none';") || !strings.Contains(policy, "style-src 'sha256-") {
		t.Errorf("policy %q", policy)
	}
	for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store"} {
		if got := w.Header().Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
}

// wellFormed checks that every element is closed.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict = true
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("the page is not well-formed: %v", err)
			return
		}
	}
}

func TestAmbiguousWhyPage(t *testing.T) {
	if w := ask(t, "/why/httproute/blog"); w.Code != http.StatusConflict {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestResolveKind(t *testing.T) {
	for text, want := range map[string]string{
		"httproute": "HTTPRoute", "HTTPROUTES": "HTTPRoute", "gw": "Gateway", "GC": "GatewayClass", "svc": "Service",
		"gateways.gateway.networking.k8s.io": "Gateway", "gateways.networking.istio.io": "", "services": "Service",
		"deployment": "", "": "", "xb": "",
	} {
		if k, ok := admin.ResolveKind(text); k.Name != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, k.Name, ok, want)
		}
	}
}

func TestKindNamesAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, k := range admin.KindNames() {
		for _, name := range append([]string{strings.ToLower(k.Name), k.Plural}, k.Short...) {
			if other, twice := seen[name]; twice {
				t.Errorf("%q means %s and %s", name, other, k.Name)
			}
			seen[name] = k.Name
		}
	}
}
