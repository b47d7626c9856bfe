package egress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
)

// fleet answers each call by the next of its answers, the last one again and again; it
// keeps what it was asked. Its clock is decades behind.
type fleet struct {
	answers []answer
	asked   []asked
}

type answer struct {
	status     int
	body       string
	retryAfter string
	err        error // no answer
}

type asked struct {
	method, path, key string
	body              map[string]any
	at                time.Time
}

func (f *fleet) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	one := asked{method: r.Method, path: r.URL.RequestURI(), key: r.Header.Get("Idempotency-Key"), at: time.Now()}
	_ = json.Unmarshal(text, &one.body)
	f.asked = append(f.asked, one)
	a := f.answers[0]
	if len(f.answers) > 1 {
		f.answers = f.answers[1:]
	}
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{}
	if a.retryAfter != "" {
		h.Set("Retry-After", a.retryAfter)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(bytes.NewBufferString(a.body)), Request: r}, nil
}

func (f *fleet) client() *egress.Client {
	return &egress.Client{BaseURL: "http://fleet.test", Token: "token-of-the-test", HTTPClient: &http.Client{Transport: f}}
}

// waiting lets a request wait as it asks to.
type waiting struct{ *fleet }

func (w waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	if d, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil {
		time.Sleep(d) // synthetic
	}
	return w.fleet.RoundTrip(r)
}

// calls are what was asked, "POST /v1/leases" and so on, after the grant.
func (f *fleet) calls() string {
	var all []string
	for _, one := range f.asked {
		all = append(all, one.method+" "+strings.TrimPrefix(one.path, "/v1/leases"))
	}
	return strings.Join(all, ", ")
}

const leased = `{"leaseID":"l1","proxy":{"name":"a","namespace":"ns","url":"http://u:first@192.0.2.1:3128",
"host":"192.0.2.1","port":3128,"scheme":"http","username":"u","password":"first"},
"target":"shop.example","expiresAt":"2000-01-01T00:00:00Z","ttlSeconds":100}`

var (
	grant   = answer{status: 201, body: leased}
	renewed = answer{status: 200, body: `{"leaseID":"l1","expiresAt":"2000-01-01T00:00:00Z"}`}
	nothing = answer{status: 204}
	lost    = answer{err: io.ErrUnexpectedEOF}
	noMatch = answer{
		status: 409, retryAfter: "7",
		body: `{"error":"no_match","message":"none","considered":6,"unhealthy":1,"atCapacity":2,"inCooldown":3}`,
	}
)

func refused(status int, code, retryAfter string) answer {
	return answer{status: status, body: `{"error":"` + code + `","message":"say it"}`, retryAfter: retryAfter}
}

// lease is a lease of 100 s, after whose grant f answers as told.
func (f *fleet) lease(t *testing.T, then ...answer) *egress.Lease {
	t.Helper()
	f.answers = append([]answer{grant}, then...)
	l, err := f.client().Acquire(context.WithoutCancel(t.Context()), egress.Request{})
	if err != nil {
		t.Fatal(err)
	}
	f.asked = nil
	return l
}
