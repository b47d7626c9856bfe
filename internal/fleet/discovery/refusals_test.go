package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// failing is a store of which every call fails.
type failing struct{ err error }

func (f failing) AcquireWithin(context.Context, lease.Request, time.Duration) (lease.Lease, error) {
	return lease.Lease{}, f.err
}

func (f failing) Renew(context.Context, string, time.Duration) (lease.Lease, error) {
	return lease.Lease{}, f.err
}
func (f failing) Release(context.Context, string) error { return f.err }
func (f failing) Report(context.Context, string, lease.Result, string) error {
	return f.err
}
func (f failing) Counts(context.Context) (map[string]int, error) { return nil, f.err }
func (f failing) Use(context.Context, string) (lease.Use, error) { return lease.Use{}, f.err }
func (f failing) in(_ *world, o *discovery.Options)              { o.Store = f }
func serving(err error) func(*world, *discovery.Options) {
	return func(_ *world, o *discovery.Options) { o.Serving = func() error { return err } }
}
func open(_ *world, o *discovery.Options) { o.Token = "" }

const (
	someID  = "0123456789abcdef0123456789abcdef"
	acquire = "POST /v1/leases"
	renew   = "PUT /v1/leases/" + someID
	release = "DELETE /v1/leases/" + someID
	report  = "POST /v1/leases/" + someID + "/report"
	list    = "GET /v1/proxies"
)

// refusals are one for each code and field at least. The message is part of what is said.
var refusals = []struct {
	ask, body string
	headers   []string
	change    func(*world, *discovery.Options)
	code      discovery.Code
	field     string
	message   string
}{
	{ask: acquire, body: ``, code: discovery.InvalidBody, message: "empty"},
	{ask: acquire, body: ` `, code: discovery.InvalidBody, message: "empty"},
	{ask: acquire, body: `null`, code: discovery.InvalidBody, message: "is null"},
	{ask: acquire, body: `[]`, code: discovery.InvalidBody, message: "is an array"},
	{ask: acquire, body: `"x"`, code: discovery.InvalidBody, message: "is a string"},
	{ask: acquire, body: `7`, code: discovery.InvalidBody, message: "is a number"},
	{ask: acquire, body: `true`, code: discovery.InvalidBody, message: "is a boolean"},
	{ask: acquire, body: `{`, code: discovery.InvalidBody, message: "ends early"},
	{ask: acquire, body: `{"target":`, code: discovery.InvalidBody, field: "target", message: "ends early"},
	{ask: acquire, body: `{} x`, code: discovery.InvalidBody, message: "goes on behind"},
	{ask: acquire, body: `{}{}`, code: discovery.InvalidBody, message: "goes on behind"},
	{ask: acquire, body: `{"target":"a",}`, code: discovery.InvalidBody, message: "no JSON"},
	{ask: acquire, body: "{\"target\":\"a\x00b\"}", code: discovery.InvalidBody, field: "target", message: "no JSON"},
	{ask: acquire, body: "{\"target\":\"a\xffb\"}", code: discovery.InvalidBody, field: "target", message: "UTF-8"},
	{ask: acquire, body: `{"target":"\ud800"}`, code: discovery.InvalidBody, field: "target", message: "surrogate"},
	{ask: acquire, body: "\ufeff{}", code: discovery.InvalidBody, message: "no JSON"},
	{ask: acquire, body: `{"ttlSeconds":NaN}`, code: discovery.InvalidBody, field: "ttlSeconds", message: "no JSON"},
	{ask: acquire, body: `{"ttlSeconds":Infinity}`, code: discovery.InvalidBody, field: "ttlSeconds", message: "no JSON"},
	{ask: acquire, body: `{"ttlSeconds":01}`, code: discovery.InvalidBody, message: "no JSON"},
	{ask: acquire, body: `{"ttl":60}`, code: discovery.InvalidBody, field: "ttl", message: `field "ttl" is not known: did you mean ttlSeconds?`},
	{ask: acquire, body: `{"Target":"x"}`, code: discovery.InvalidBody, field: "Target", message: "did you mean target?"},
	{ask: acquire, body: `{"proxy":{"a":[1]}}`, code: discovery.InvalidBody, field: "proxy", message: "there are selector, ttlSeconds, target, namespace, session, exclude"},
	{ask: acquire, body: `{"target":"a","target":"a"}`, code: discovery.InvalidBody, field: "target", message: `field "target" comes twice`},
	{ask: acquire, body: `{"selector":{"a":"1","a":"2"}}`, code: discovery.InvalidBody, field: "selector.a", message: "comes twice"},
	{ask: acquire, body: `{"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, code: discovery.InvalidBody, field: "x.0.0", message: "depth"},
	{ask: acquire, body: `{"ttlSeconds":"60"}`, code: discovery.InvalidBody, field: "ttlSeconds", message: `ttlSeconds is a string, "60": send a number`},
	{ask: acquire, body: `{"ttlSeconds":null}`, code: discovery.InvalidBody, field: "ttlSeconds", message: "is null"},
	{ask: acquire, body: `{"ttlSeconds":true}`, code: discovery.InvalidBody, field: "ttlSeconds", message: "is a boolean, true"},
	{ask: acquire, body: `{"target":7}`, code: discovery.InvalidBody, field: "target", message: "target is a number, 7: send a string"},
	{ask: acquire, body: `{"session":{}}`, code: discovery.InvalidBody, field: "session", message: "is an object"},
	{ask: acquire, body: `{"namespace":["a"]}`, code: discovery.InvalidBody, field: "namespace", message: "is an array"},
	{ask: acquire, body: `{"selector":"country=de"}`, code: discovery.InvalidBody, field: "selector", message: `a string, "country=de": send an object of strings`},
	{ask: acquire, body: `{"selector":{"country":7}}`, code: discovery.InvalidBody, field: "selector.country", message: "a number, 7"},
	{ask: acquire, body: `{"exclude":"crawl/de-1"}`, code: discovery.InvalidBody, field: "exclude", message: "send an array of strings"},
	{ask: acquire, body: `{"exclude":["crawl/de-1",7]}`, code: discovery.InvalidBody, field: "exclude[1]", message: "a number, 7"},
	{ask: acquire, body: `{"selector":{"":"de"}}`, code: discovery.InvalidSelector, field: "selector.", message: `selector."" is no attribute`},
	{ask: acquire, body: `{"selector":{"-a":"de"}}`, code: discovery.InvalidSelector, field: "selector.-a", message: "is no attribute"},
	{ask: acquire, body: `{"selector":{"a\u0000":"de"}}`, code: discovery.InvalidSelector, field: "selector.a ", message: `selector."a\x00" is no attribute`},
	{ask: acquire, body: `{"selector":{"country":"d e"}}`, code: discovery.InvalidSelector, field: "selector.country", message: `"d e", which no attribute can be`},
	{ask: acquire, body: `{"selector":{"country":"` + strings.Repeat("d", 64) + `"}}`, code: discovery.InvalidSelector, field: "selector.country", message: "at most 63"},
	{ask: acquire, body: `{"selector":{` + many(33) + `}}`, code: discovery.InvalidSelector, field: "selector", message: "33 attributes"},
	{ask: acquire, body: `{"namespace":"Crawl"}`, code: discovery.InvalidSelector, field: "namespace", message: `"Crawl" is no name of a namespace`},
	{ask: acquire, body: `{"ttlSeconds":-1}`, code: discovery.InvalidTTL, field: "ttlSeconds", message: "ttlSeconds is -1: send a whole number from 1 to 3600, or none for 300"},
	{ask: acquire, body: `{"ttlSeconds":3601}`, code: discovery.InvalidTTL, field: "ttlSeconds", message: "is 3601"},
	{ask: acquire, body: `{"ttlSeconds":1.5}`, code: discovery.InvalidTTL, field: "ttlSeconds", message: "is 1.5"},
	{ask: acquire, body: `{"ttlSeconds":1e999}`, code: discovery.InvalidTTL, field: "ttlSeconds", message: "is 1e999"},
	{ask: acquire, body: `{"ttlSeconds":99999999999999999999}`, code: discovery.InvalidTTL, field: "ttlSeconds", message: "is 99999999999999999999"},
	{ask: acquire, body: `{"target":"https://shop.example/a"}`, code: discovery.InvalidTarget, field: "target", message: "send the host of the URL alone"},
	{ask: acquire, body: `{"target":"bücher.example"}`, code: discovery.InvalidTarget, field: "target", message: "ASCII"},
	{ask: acquire, body: `{"target":"shop example"}`, code: discovery.InvalidTarget, field: "target", message: "is no name of a host"},
	{ask: acquire, body: `{"target":"` + strings.Repeat("a", 254) + `"}`, code: discovery.InvalidTarget, field: "target", message: "253 bytes"},
	{ask: acquire, body: `{"session":"a\nb"}`, code: discovery.InvalidSession, field: "session", message: `"a\nb" is not 1 to 128 printable`},
	{ask: acquire, body: `{"session":"` + strings.Repeat("s", 129) + `"}`, code: discovery.InvalidSession, field: "session", message: "128"},
	{ask: acquire, body: `{"exclude":["de-1"]}`, code: discovery.InvalidExclude, field: "exclude", message: `"de-1", which names no proxy`},
	{ask: acquire, body: `{"exclude":["crawl/de_1"]}`, code: discovery.InvalidExclude, field: "exclude", message: "which names no proxy"},
	{ask: acquire, body: `{"exclude":[` + strings.TrimSuffix(strings.Repeat(`"a/b",`, 257), ",") + `]}`, code: discovery.InvalidExclude, field: "exclude", message: "257 names"},
	{ask: acquire + "?wait=10", body: `{}`, code: discovery.InvalidWait, field: "wait", message: `wait is "10": send a duration up to 30s, such as 10s`},
	{ask: acquire + "?wait=31s", body: `{}`, code: discovery.InvalidWait, field: "wait", message: "up to 30s"},
	{ask: acquire + "?wait=-1s", body: `{}`, code: discovery.InvalidWait, field: "wait", message: "up to 30s"},
	{ask: acquire + "?wait=", body: `{}`, code: discovery.InvalidWait, field: "wait", message: `wait is ""`},
	{ask: acquire + "?wiat=1s", body: `{}`, code: discovery.InvalidQuery, field: "wiat", message: "did you mean wait?"},
	{ask: acquire + "?wait=1s&wait=2s", body: `{}`, code: discovery.InvalidQuery, field: "wait", message: "comes 2 times"},
	{ask: acquire + "?wait=%zz", body: `{}`, code: discovery.InvalidQuery, message: "cannot be read"},
	{ask: acquire, body: `{}`, headers: []string{"Idempotency-Key: a b"}, code: discovery.InvalidKey, field: "Idempotency-Key", message: "visible ASCII"},
	{ask: acquire, body: `{}`, headers: []string{"Idempotency-Key: " + strings.Repeat("k", 256)}, code: discovery.InvalidKey, field: "Idempotency-Key", message: "255"},
	{ask: acquire, body: `{"target":"b.example"}`, headers: []string{"Idempotency-Key: k"}, change: used, code: discovery.KeyReused, field: "Idempotency-Key", message: "another request"},
	{ask: acquire, body: `{"selector":{"country":"xx"}}`, code: discovery.NoMatch, message: "no proxy has the attributes"},
	{ask: acquire, body: `{}`, change: failing{lease.ErrTooMany}.in, code: discovery.TooManyWaiting, message: "wait for a proxy"},
	{ask: renew, body: `{"ttlSeconds":0.5}`, code: discovery.InvalidTTL, field: "ttlSeconds", message: "is 0.5"},
	{ask: renew, body: `{"seconds":5}`, code: discovery.InvalidBody, field: "seconds", message: "there is only ttlSeconds"},
	{ask: renew + "?wait=1s", body: `{}`, code: discovery.InvalidQuery, field: "wait", message: "there are none here"},
	{ask: renew, body: `{}`, code: discovery.UnknownLease, message: "no lease has this ID"},
	{ask: "PUT /v1/leases/nonsense", body: `{}`, code: discovery.UnknownLease, message: "no lease has this ID"},
	{ask: renew, body: `{}`, change: failing{lease.ErrProxyGone}.in, code: discovery.ProxyGone, message: "deleted or replaced"},
	{ask: report, body: `{}`, code: discovery.InvalidResult, field: "result", message: "result is missing"},
	{ask: report, body: `{"result":"ban"}`, code: discovery.InvalidResult, field: "result", message: `result is "ban": did you mean banned?`},
	{ask: report, body: `{"result":""}`, code: discovery.InvalidResult, field: "result", message: "send ok, rate_limited, banned"},
	{ask: report, body: `{"result":true}`, code: discovery.InvalidBody, field: "result", message: "a boolean"},
	{ask: report, body: `{"result":"ok","target":"a b"}`, code: discovery.InvalidTarget, field: "target", message: "no name of a host"},
	{ask: report + "?x", body: `{"result":"ok"}`, code: discovery.InvalidQuery, field: "x", message: "there are none here"},
	{ask: report, body: `{"result":"ok"}`, code: discovery.UnknownLease, message: "no lease has this ID"},
	{ask: list + "?healthy=yes", code: discovery.InvalidQuery, field: "healthy", message: `healthy is "yes": send true or false`},
	{ask: list + "?namespace=A", code: discovery.InvalidQuery, field: "namespace", message: "no name of a namespace"},
	{ask: list + "?country=de", code: discovery.InvalidQuery, field: "country", message: "there are attr.NAME, healthy, namespace"},
	{ask: list + "?attr.=de", code: discovery.InvalidQuery, field: "attr.", message: "is no attribute"},
	{ask: list + "?attr.country=d%20e", code: discovery.InvalidQuery, field: "attr.country", message: "which no attribute can be"},
	{ask: list + "?attr.a=1&attr.a=2", code: discovery.InvalidQuery, field: "attr.a", message: "comes 2 times"},
	{ask: list + "?a;b", code: discovery.InvalidQuery, message: "cannot be read"},
	{ask: "GET /v1/proxy", code: discovery.NotFound, message: "did you mean /v1/proxies?"},
	{ask: "GET /", code: discovery.NotFound, message: "GET /openapi.json lists"},
	{ask: "PATCH /v1/leases", code: discovery.MethodNotAllowed, message: `method "PATCH" is not for /v1/leases: send POST, OPTIONS`},
}

func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"k%d":"v"`, i))
	}
	return strings.Join(all, ",")
}

// used is a world in which a key was used.
func used(w *world, o *discovery.Options) {
	w.before = func(t *testing.T) {
		w.ask(t, "POST", "/v1/leases", `{"target":"a.example"}`, "Idempotency-Key: k").want(t, 201)
	}
}

// TestRefusals: each has its code, its field, and one line that says what helps; together
// they are all answers that the description has, and all codes that there are.
func TestRefusals(t *testing.T) {
	seen, codes := kept{}, map[discovery.Code]bool{}
	for _, test := range refusals {
		t.Run(test.ask+" "+string(test.code), func(t *testing.T) {
			w := start(t, change(test.change))
			w.seen = seen
			w.prepare(t)
			method, target, _ := strings.Cut(test.ask, " ")
			got := w.ask(t, method, target, test.body, test.headers...)
			refused(t, got, test.code, test.field, test.message)
			codes[test.code] = true
		})
	}
	for _, ask := range []string{acquire, renew, release, report, list, "GET /readyz"} {
		t.Run(ask, func(t *testing.T) { refusedAnyway(t, ask, seen, codes) })
	}
	succeed(t, seen)
	if diff := cmp.Diff(promises(t), seen); diff != "" {
		t.Errorf("answers that the description has, and that were seen (-description +seen):\n%s", diff)
	}
	for _, code := range discovery.Codes() {
		if !codes[code] {
			t.Errorf("%s is not tested", code)
		}
	}
}

func change(f func(*world, *discovery.Options)) func(*world, *discovery.Options) {
	if f == nil {
		return func(*world, *discovery.Options) {}
	}
	return f
}

// anyway are what may happen to every request that needs a token; and some to those that
// have a body, or none.
var anyway = []struct {
	code    discovery.Code
	change  func(*world, *discovery.Options)
	headers []string
	body    string
	only    string // methods
	message string
}{
	{code: discovery.Unauthorized, headers: []string{"Authorization"}, message: "there is no Authorization"},
	{code: discovery.Unauthorized, headers: []string{"Authorization: Bearer wrong"}, message: "not the right one"},
	{code: discovery.Forbidden, change: open, headers: []string{"Origin: http://evil.example"}, message: "web pages"},
	{code: discovery.TooLarge, body: strings.Repeat(" ", discovery.MaxBody+1), message: "65537 bytes, at most 65536"},
	{code: discovery.UnsupportedMedia, headers: []string{"Content-Type: text/plain"}, only: "POST PUT", message: "curl: --json"},
	{code: discovery.UnsupportedMedia, headers: []string{"Content-Encoding: gzip"}, only: "POST PUT", message: "gzip"},
	{code: discovery.UnsupportedMedia, headers: []string{"Content-Type: application/json; charset=latin1"}, only: "POST PUT", message: "UTF-8"},
	{code: discovery.Internal, change: failing{errors.New("something else")}.in, message: "bug in Gatehouse"},
	{code: discovery.StoreUnavailable, change: failing{fmt.Errorf("redis://:secret@host: %w", lease.ErrUnavailable)}.in, message: "nothing is granted"},
	{code: discovery.IsStarting, change: serving(discovery.ErrStarting), message: "still being read"},
	{code: discovery.IsNotLeading, change: serving(fmt.Errorf("%w (pod b)", discovery.ErrNotLeading)), message: "(pod b)"},
}

func refusedAnyway(t *testing.T, ask string, seen kept, codes map[discovery.Code]bool) {
	t.Helper()
	method, target, _ := strings.Cut(ask, " ")
	for _, test := range anyway {
		if test.only != "" && !strings.Contains(test.only, method) {
			continue
		}
		change, body := change(test.change), test.body
		if target == "/readyz" {
			if test.code.Status() != http.StatusServiceUnavailable {
				continue
			}
			if test.code == discovery.StoreUnavailable {
				change = serving(lease.ErrUnavailable)
			}
		}
		if body == "" && method != "GET" && method != "DELETE" {
			body = `{"result":"ok"}`
			if target == "/v1/leases" || method == "PUT" {
				body = `{}`
			}
		}
		w := start(t, change)
		w.seen = seen
		refused(t, w.ask(t, method, target, body, test.headers...), test.code, "", test.message)
		codes[test.code] = true
		if strings.Contains(w.log.String(), "secret") {
			t.Errorf("a password is in the log: %s", w.log)
		}
	}
	if target == "/v1/leases" || target == "/readyz" {
		w := start(t)
		w.seen = seen
		w.Stop()
		if target == "/v1/leases" {
			target += "?wait=30s"
		}
		refused(t, w.ask(t, method, target, `{"selector":{"country":"xx"}}`), discovery.IsStopping, "", "another one answers")
		codes[discovery.IsStopping] = true
	}
}

// refused compares a refusal, of which every one has a code, a line with a remedy, and a
// time to ask again if it is to be asked again.
func refused(t *testing.T, got answer, code discovery.Code, field, message string) {
	t.Helper()
	var wantField any
	if field != "" {
		wantField = field
	}
	got.want(t, code.Status(), "error", string(code), "field", wantField)
	said, _ := got.at("message").(string)
	if !strings.Contains(said, message) || strings.ContainsAny(said, "\r\n") || !strings.Contains(said, ": ") || len(said) > 400 {
		t.Errorf("it says %q, want one line with %q and a remedy", said, message)
	}
	if got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Cache-Control is %q", got.header.Get("Cache-Control"))
	}
}

// succeed sees every success of the description.
func succeed(t *testing.T, seen kept) {
	t.Helper()
	w := start(t)
	w.seen = seen
	id, _ := w.ask(t, "POST", "/v1/leases", `{}`).at("leaseID").(string)
	w.ask(t, "PUT", "/v1/leases/"+id, `{}`).want(t, 200)
	w.ask(t, "POST", "/v1/leases/"+id+"/report", `{"result":"ok"}`).want(t, 204)
	w.ask(t, "DELETE", "/v1/leases/"+id, "").want(t, 204)
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/v1/proxies"} {
		w.ask(t, "GET", path, "").want(t, 200)
	}
}
