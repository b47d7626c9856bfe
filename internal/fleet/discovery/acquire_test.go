package discovery_test

import (
	"testing"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

// TestDefaults: what is left out and what is empty is the same.
func TestDefaults(t *testing.T) {
	for _, body := range []string{
		`{}`, ` { } `, `{"ttlSeconds":0}`, `{"ttlSeconds":3e2}`, `{"ttlSeconds":300.0}`, `{"selector":{}}`, `{"target":"","namespace":"","session":"","exclude":[]}`,
	} {
		start(t).ask(t, "POST", "/v1/leases", body).want(t, 201, "ttlSeconds", 300.0, "target", "", "rebound", false, "expiresAt", "2026-11-30T19:05:00.123Z")
	}
}

// TestBounds are within what is allowed.
func TestBounds(t *testing.T) {
	for body, seconds := range map[string]float64{`{"ttlSeconds":1}`: 1, `{"ttlSeconds":3600}`: 3600, `{"ttlSeconds":1e0}`: 1} {
		start(t).ask(t, "POST", "/v1/leases", body).want(t, 201, "ttlSeconds", seconds)
	}
}

// TestTargets are compared as hosts.
func TestTargets(t *testing.T) {
	for sent, want := range map[string]string{
		"shop.example": "shop.example", "SHOP.Example": "shop.example", "shop.example.": "shop.example", "shop.example:443": "shop.example",
		"shop.example.:8080": "shop.example", "192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1", "2001:DB8:0::1": "2001:db8::1",
		"[2001:db8::1]": "2001:db8::1", "[2001:db8::1]:443": "2001:db8::1", "_dmarc.shop.example": "_dmarc.shop.example", "localhost": "localhost",
		".": ".", ":443": ":443", "[": "[",
	} {
		start(t).ask(t, "POST", "/v1/leases", `{"target":"`+sent+`"}`).want(t, 201, "target", want)
	}
}

// TestSelection: by selector, namespace and exclusion.
func TestSelection(t *testing.T) {
	for body, name := range map[string]any{
		`{"selector":{"country":"fr"}}`:                               "fr-1",
		`{"selector":{"country":"de","kind":"vm"},"ttlSeconds":5}`:    "de-2",
		`{"namespace":"crawl"}`:                                       "de-1",
		`{"exclude":["crawl/de-1"]}`:                                  "de-2",
		`{"exclude":["crawl/de-2","crawl/de-1","crawl/de-1","a/b"]}`:  "fr-1",
		`{"namespace":"other"}`:                                       nil,
		`{"exclude":["crawl/de-1","crawl/de-2","crawl/fr-1"]}`:        nil,
		`{"selector":{"country":""}}`:                                 nil,
		`{"selector":{"country":"de"},"exclude":["crawl/de-1"]}`:      "de-2",
		`{"selector":{"country":"de"},"session":"a","ttlSeconds":17}`: "de-1",
	} {
		w := start(t)
		if got := w.ask(t, "POST", "/v1/leases", body); got.at("proxy.name") != name {
			t.Errorf("%s gets %s, want %v", body, got.body, name)
		}
	}
}

// TestNoMatch counts each proxy once, and says when it helps to ask again.
func TestNoMatch(t *testing.T) {
	w := start(t)
	sick := proxy("de-3", "192.0.2.9", "country", "de")
	sick.Status.Conditions = sick.Status.Conditions[:1]
	w.add(t, w.memory, sick, nil)
	cooled, _ := w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"},"target":"shop.example"}`).at("leaseID").(string)
	for range 3 {
		w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"},"ttlSeconds":90}`).want(t, 201)
	}
	w.ask(t, "DELETE", "/v1/leases/"+cooled, "").want(t, 204)
	w.ask(t, "POST", "/v1/leases/"+cooled+"/report", `{"result":"rate_limited"}`).want(t, 204)
	w.now = w.now.Add(500 * time.Millisecond)

	got := w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"},"target":"shop.example"}`)

	got.want(t, 409, "error", "no_match", "considered", 3.0, "unhealthy", 1.0, "atCapacity", 1.0, "inCooldown", 1.0,
		"message", "3 proxies match, of which 1 are unhealthy, 1 at capacity, 1 cooling down: ask again after the seconds of Retry-After, wait with ?wait=10s, or release leases early")
	if after := got.header.Get("Retry-After"); after != "90" {
		t.Errorf("Retry-After is %s, want the 89.5 s of the next lease that ends, rounded up", after)
	}
	w.now = w.now.Add(89400 * time.Millisecond)
	if after := w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"},"target":"shop.example"}`).header.Get("Retry-After"); after != "1" {
		t.Errorf("Retry-After is %s, want at least 1", after)
	}
}

// TestIdempotency: the same key and the same request are the same lease.
func TestIdempotency(t *testing.T) {
	w := start(t)
	first := w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"},"target":"a.example","exclude":["a/b","c/d"]}`, "Idempotency-Key: k")
	first.want(t, 201)
	for query, body := range map[string]string{
		"":         `{"target":"A.example.","exclude":["c/d","a/b","a/b"],"selector":{"country":"de"},"ttlSeconds":300}`,
		"?wait=3s": `{"selector":{"country":"de"},"target":"a.example","exclude":["a/b","c/d"],"session":""}`,
	} {
		again := w.ask(t, "POST", "/v1/leases"+query, body, "Idempotency-Key: k")
		again.want(t, 201, "leaseID", first.at("leaseID"), "expiresAt", first.at("expiresAt"), "proxy.activeLeases", 1.0)
	}
	for _, body := range []string{
		`{}`, `{"selector":{"country":"de"},"target":"b.example","exclude":["a/b","c/d"]}`, `{"selector":{"country":"de"},"target":"a.example"}`,
		`{"selector":{"country":"de"},"target":"a.example","exclude":["a/b","c/d"],"ttlSeconds":301}`,
		`{"selector":{"country":"de"},"target":"a.example","exclude":["a/b","c/d"],"session":"s"}`,
		`{"selector":{"country":"de"},"target":"a.example","exclude":["a/b","c/d"],"namespace":"crawl"}`,
	} {
		w.ask(t, "POST", "/v1/leases", body, "Idempotency-Key: k").want(t, 422, "error", "idempotency_key_reused")
	}
	w.ask(t, "POST", "/v1/leases", `{}`, "Idempotency-Key: "+longKey).want(t, 201, "proxy.name", "de-2")
	r := w.request(t, "POST", "/v1/leases", `{}`)
	r.Header["Idempotency-Key"] = []string{"k", "k"}
	w.send(t, r).want(t, 400, "error", "invalid_key", "field", "Idempotency-Key")
	r.Header["Idempotency-Key"] = []string{""}
	w.send(t, r).want(t, 400, "error", "invalid_key")
}

var longKey = func() string {
	key := make([]byte, 0, 255)
	for i := range 255 {
		key = append(key, byte('!'+i%('~'-'!'+1)))
	}
	return string(key)
}()

// TestIdempotencyIsPerToken: who has another token has other keys.
func TestIdempotencyIsPerToken(t *testing.T) {
	w := start(t)
	other := discovery.New(w.options(func(o *discovery.Options) { o.Token = "another token" }))
	w.ask(t, "POST", "/v1/leases", `{}`, "Idempotency-Key: k").want(t, 201)
	w.API = other

	got := w.ask(t, "POST", "/v1/leases", `{"target":"b.example"}`, "Idempotency-Key: k", "Authorization: Bearer another token")

	got.want(t, 201)
}

// TestSession keeps its proxy, as long as that is fit.
func TestSession(t *testing.T) {
	w := start(t)
	const body = `{"session":"s","target":"shop.example"}`
	first := w.ask(t, "POST", "/v1/leases", body)
	first.want(t, 201, "proxy.name", "de-1", "rebound", false)
	w.ask(t, "POST", "/v1/leases", body).want(t, 201, "proxy.name", "de-1", "rebound", false)
	id, _ := first.at("leaseID").(string)
	w.ask(t, "POST", "/v1/leases/"+id+"/report", `{"result":"banned"}`).want(t, 204)

	w.ask(t, "POST", "/v1/leases", body).want(t, 201, "proxy.name", "de-2", "rebound", true)
}

// TestAProxyThatHasJustChanged is not told of: its lease is given back for another one.
func TestAProxyThatHasJustChanged(t *testing.T) {
	w := start(t)
	moved := proxy("de-1", "192.0.2.77", "country", "de")
	w.book["uid-de-1"] = offerOf(moved) // the store has not heard yet
	delete(w.book, "uid-de-2")

	first := w.ask(t, "POST", "/v1/leases", `{}`, "Idempotency-Key: k")
	first.want(t, 201, "proxy.name", "fr-1")
	w.ask(t, "POST", "/v1/leases", `{}`, "Idempotency-Key: k").want(t, 201, "leaseID", first.at("leaseID"))
	w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de"}}`).want(t, 409, "error", "no_match")

	if counts, _ := w.store.Counts(t.Context()); counts["uid-de-1"]+counts["uid-de-2"] != 0 {
		t.Errorf("leases are left: %v", counts)
	}
}

// TestLeadLostWhileGranting: what was granted by a process that no longer leads is given
// back, and nobody is told of it.
func TestLeadLostWhileGranting(t *testing.T) {
	asked := 0
	w := start(t, func(_ *world, o *discovery.Options) {
		o.Serving = func() error {
			if asked++; asked > 1 {
				return discovery.ErrNotLeading
			}
			return nil
		}
	})

	w.ask(t, "POST", "/v1/leases", `{}`).want(t, 503, "error", "not_leading", "leaseID", nil)

	if counts, _ := w.store.Counts(t.Context()); len(counts) != 0 {
		t.Errorf("leases are left: %v", counts)
	}
}

// TestProxyGone: renewing a lease on a proxy that was replaced says so.
func TestProxyGone(t *testing.T) {
	w := start(t)
	id, _ := w.ask(t, "POST", "/v1/leases", `{}`).at("leaseID").(string)
	if err := w.memory.Remove(t.Context(), "uid-de-1"); err != nil {
		t.Fatal(err)
	}

	w.ask(t, "PUT", "/v1/leases/"+id, `{}`).want(t, 409, "error", "proxy_gone")
}

// TestOutcomes are counted.
func TestOutcomes(t *testing.T) {
	got := outcomes{}
	w := start(t, func(_ *world, o *discovery.Options) { o.Metrics = got })

	w.ask(t, "POST", "/v1/leases", `{}`)
	w.ask(t, "POST", "/v1/leases", `{"selector":{"country":"de","kind":"pod"}}`)
	w.ask(t, "POST", "/v1/leases", `{"x":1}`)
	w.ask(t, "GET", "/v1/proxies", ``)

	if len(got) != 3 || got["granted"] != 1 || got["no_match"] != 1 || got["invalid_body"] != 1 {
		t.Errorf("counted %v", got)
	}
}

type outcomes map[string]int

func (o outcomes) LeaseRequest(outcome string) { o[outcome]++ }

// TestList is in order, filtered, and without credentials.
func TestList(t *testing.T) {
	w := start(t)
	sick := proxy("fr-2", "proxy.example", "country", "fr")
	sick.Status.Conditions = sick.Status.Conditions[:1]
	sick.Spec.Endpoint.Scheme = egress_v1alpha1.SOCKS5
	sick.Namespace = "other"
	w.add(t, w.memory, sick, nil)
	w.ask(t, "POST", "/v1/leases", `{"selector":{"kind":"vm"}}`).want(t, 201)
	for query, want := range map[string]string{
		"": "crawl/de-1 crawl/de-2 crawl/fr-1 other/fr-2 ", "?attr.country=fr": "crawl/fr-1 other/fr-2 ", "?healthy=true": "crawl/de-1 crawl/de-2 crawl/fr-1 ",
		"?healthy=false": "other/fr-2 ", "?attr.country=de&attr.kind=vm&healthy=true": "crawl/de-2 ", "?namespace=other": "other/fr-2 ",
		"?attr.country=xx": "", "?namespace=": "crawl/de-1 crawl/de-2 crawl/fr-1 other/fr-2 ", "?attr.kind=": "",
	} {
		got, names := w.ask(t, "GET", "/v1/proxies"+query, ""), ""
		proxies, _ := got.at("proxies").([]any)
		for _, p := range proxies {
			p := answer{fields: p.(map[string]any)} //nolint:forcetypeassert // the schema says so
			names += p.at("namespace").(string) + "/" + p.at("name").(string) + " "
			if p.at("username") != nil || p.at("password") != nil {
				t.Errorf("credentials in a list: %s", got.body)
			}
		}
		if got.want(t, 200, "count", float64(len(proxies))); names != want || proxies == nil {
			t.Errorf("%s lists %q, want %q", query, names, want)
		}
	}
	one := w.ask(t, "GET", "/v1/proxies?attr.kind=vm", "")
	one.fields, _ = one.at("proxies").([]any)[0].(map[string]any)
	one.want(t, 200, "url", "http://[2001:db8::2]:3128", "host", "2001:db8::2", "ip", "2001:db8::2", "activeLeases", 1.0, "healthy", true)
	two := w.ask(t, "GET", "/v1/proxies?healthy=false", "")
	two.fields, _ = two.at("proxies").([]any)[0].(map[string]any)
	two.want(t, 200, "url", "socks5://proxy.example:3128", "host", "proxy.example", "ip", "", "scheme", "socks5", "healthy", false)
}

// TestCurlNeedsNoType: what it says of any body is no reason to refuse JSON.
func TestCurlNeedsNoType(t *testing.T) {
	start(t).ask(t, "POST", "/v1/leases", `{"target":"shop.example"}`, "Content-Type: application/x-www-form-urlencoded").want(t, 201, "target", "shop.example")
}
