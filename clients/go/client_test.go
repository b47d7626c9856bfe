package egress_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
)

func TestAnswerThatIsLostLosesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{answers: []answer{lost, lost, grant}}
		for range 2 {
			if _, err := f.client().Acquire(t.Context(), egress.Request{}); err != nil {
				t.Fatal(err)
			}
		}
		if len(f.asked) != 4 {
			t.Fatalf("asked %d times, want 3 for the first lease and once for the second", len(f.asked))
		}
		if first := f.asked[0].key; first == "" || first != f.asked[1].key || first != f.asked[2].key || first == f.asked[3].key {
			t.Errorf("the keys are %+v, want one for each lease", f.asked)
		}
	})
}

func TestRequestSaysWhatIsAsked(t *testing.T) {
	f := &fleet{answers: []answer{grant}}
	l, err := f.client().Acquire(t.Context(), egress.Request{
		Selector: map[string]string{"country": "de"}, Namespace: "ns", Target: "shop.example", TTL: 1500 * time.Millisecond,
		Session: "s", Exclude: []string{"ns/b"}, Wait: 10 * time.Second, IdempotencyKey: "mine",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"selector": map[string]any{"country": "de"}, "namespace": "ns", "target": "shop.example", "ttlSeconds": 2.0,
		"session": "s", "exclude": []any{"ns/b"},
	}
	if got := f.asked[0]; !reflect.DeepEqual(got.body, want) || got.key != "mine" || !strings.HasPrefix(got.path, "/v1/leases?wait=") {
		t.Errorf("asked %+v, want %v", got, want)
	}
	if l.ProxyURL().String() != "http://u:first@192.0.2.1:3128" || l.Proxy().ID() != "ns/a" || l.TTL() != 100*time.Second {
		t.Errorf("leased %v for %v", l.Proxy(), l.TTL())
	}
}

// TestRepeats: what the fleet did not act on is asked again, and what it may have acted on
// only where that is the same.
func TestRepeats(t *testing.T) {
	busy := refused(503, "not_leading", "3")
	for name, c := range map[string]struct {
		answers []answer
		do      func(context.Context, *egress.Lease) error
		calls   string
		err     error
		took    time.Duration // at least, and not a second longer
	}{
		"report, lost":        {[]answer{lost, nothing}, report, "POST /l1/report", egress.ErrUnreachable, 0},
		"report, refused":     {[]answer{busy, nothing}, report, "POST /l1/report, POST /l1/report", nil, 3 * time.Second},
		"renewal, lost":       {[]answer{lost, renewed}, renew, "PUT /l1, PUT /l1", nil, 0},
		"release, lost":       {[]answer{lost, lost, nothing}, release, "DELETE /l1, DELETE /l1, DELETE /l1", nil, 0},
		"renewal, unknown":    {[]answer{refused(404, "unknown_lease", "")}, renew, "PUT /l1", egress.ErrUnknownLease, 0},
		"report, unknown":     {[]answer{refused(404, "unknown_lease", "")}, report, "POST /l1/report", egress.ErrUnknownLease, 0},
		"later than the time": {[]answer{refused(503, "starting", "30"), renewed}, renew, "PUT /l1", egress.ErrStarting, 0},
		"much later":          {[]answer{refused(503, "starting", "31"), nothing}, release, "DELETE /l1", egress.ErrStarting, 0},
		"four times": {
			[]answer{refused(503, "store_unavailable", "1")},
			renew, "PUT /l1, PUT /l1, PUT /l1, PUT /l1",
			egress.ErrStoreUnavailable, 3 * time.Second,
		},
		"not of the API": {[]answer{{status: 200, body: "<html>"}}, renew, "PUT /l1", egress.ErrUnexpected, 0},
		"no code":        {[]answer{{status: 404, body: "page not found"}}, renew, "PUT /l1", egress.ErrUnexpected, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := new(fleet)
				l := f.lease(t, c.answers...)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				began := time.Now()
				err := c.do(ctx, l)
				if !errors.Is(err, c.err) || f.calls() != c.calls {
					t.Errorf("%v after %s, want %v after %s", err, f.calls(), c.err, c.calls)
				}
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

func report(ctx context.Context, l *egress.Lease) error { return l.Report(ctx, egress.Banned, "") }
func renew(ctx context.Context, l *egress.Lease) error  { return l.Renew(ctx, 0) }
func release(ctx context.Context, l *egress.Lease) error {
	return l.Release(context.WithoutCancel(ctx))
}

// TestWaitBeyondOneRequest: the fleet waits 30 s for each of two requests, and 10 s for the
// third.
func TestWaitBeyondOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{answers: []answer{noMatch}}
		slow := waiting{f}
		c := f.client()
		c.HTTPClient.Transport = slow
		_, err := c.Acquire(t.Context(), egress.Request{Wait: 70 * time.Second})
		e, ok := errors.AsType[*egress.Error](err)
		if !ok || !errors.Is(err, egress.ErrNoMatch) || e.Considered != 6 || e.Unhealthy != 1 || e.AtCapacity != 2 || e.InCooldown != 3 || e.RetryAfter != 7*time.Second {
			t.Errorf("refused with %+v", err)
		}
		if want := "POST ?wait=30s, POST ?wait=30s, POST ?wait=10s"; f.calls() != want {
			t.Errorf("asked %s, want %s", f.calls(), want)
		}
	})
}

// TestErrors have what callers ask, and neither token nor password.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{answers: []answer{{err: context.DeadlineExceeded}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, unreachable := f.client().Acquire(ctx, egress.Request{})
		if !errors.Is(unreachable, egress.ErrUnreachable) || !errors.Is(unreachable, context.DeadlineExceeded) || errors.Is(unreachable, egress.ErrNoMatch) {
			t.Errorf("it is %v", unreachable)
		}
		f.answers = []answer{{status: 201, body: strings.Replace(leased, "http://", "http://%", 1)}}
		_, bad := f.client().Acquire(ctx, egress.Request{})
		if !errors.Is(bad, egress.ErrUnexpected) {
			t.Errorf("a URL that is none: %v", bad)
		}
		_, url := (&egress.Client{BaseURL: "127.0.0.1:8090"}).List(ctx, egress.Filter{})
		if url == nil || !strings.Contains(url.Error(), "BaseURL") {
			t.Errorf("a base that is none: %v", url)
		}
		for _, err := range []error{unreachable, bad, url} {
			if strings.Contains(err.Error(), "token-of-the-test") || strings.Contains(err.Error(), "first") {
				t.Errorf("%q tells a secret", err)
			}
		}
	})
}

func TestList(t *testing.T) {
	f := &fleet{answers: []answer{{status: 200, body: `{"proxies":[{"name":"a","namespace":"ns","healthy":true,"activeLeases":2}],"count":1}`}}}
	all, err := f.client().List(t.Context(), egress.Filter{Attributes: map[string]string{"country": "de"}, Namespace: "ns", Healthy: new(true)})
	if err != nil || len(all) != 1 || all[0].ID() != "ns/a" || all[0].ActiveLeases != 2 {
		t.Errorf("listed %v, %v", all, err)
	}
	if want := "/v1/proxies?attr.country=de&healthy=true&namespace=ns"; f.asked[0].path != want {
		t.Errorf("asked %s, want %s", f.asked[0].path, want)
	}
}
