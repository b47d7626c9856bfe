package clients

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
)

func TestGoLife(t *testing.T) {
	a := serve(t)
	c := a.client()
	l, err := c.Acquire(t.Context(), egress.Request{
		Selector: map[string]string{"country": "fr"}, Namespace: "crawl", Target: "Shop.example", TTL: time.Minute,
		Session: "s", Exclude: []string{"crawl/de-1"}, Wait: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	p := l.Proxy()
	if p.ID() != "crawl/fr-1" || p.Zone != "z" || p.LatencyMillis != 20 || l.Target != "shop.example" || l.TTL() != time.Minute ||
		l.ProxyURL().Host != "192.0.2.1:3128" || l.ProxyURL().User.Username() != p.Username || p.Username == "" {
		t.Errorf("leased %+v until %v", p, l.ExpiresAt())
	}
	before := l.ExpiresAt()
	if err := l.Renew(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if !l.ExpiresAt().After(before.Add(58*time.Minute)) || l.Proxy().Username == p.Username {
		t.Errorf("renewed until %v as %s, was until %v as %s", l.ExpiresAt(), l.Proxy().Username, before, p.Username)
	}
	all, err := c.List(t.Context(), egress.Filter{Attributes: map[string]string{"country": "fr"}, Healthy: new(true)})
	if err != nil || len(all) != 1 || all[0].ActiveLeases != 1 || all[0].Password != "" {
		t.Errorf("listed %+v, %v", all, err)
	}
	if !l.CoolingUntil().IsZero() {
		t.Errorf("it rests until %v, and nobody reported", l.CoolingUntil())
	}
	if err := errors.Join(l.Report(t.Context(), egress.Banned, ""), l.Renew(t.Context(), 0)); err != nil || time.Until(l.CoolingUntil()) < 9*time.Minute {
		t.Errorf("banned, it rests until %v, %v", l.CoolingUntil(), err)
	}
	if err := errors.Join(l.Release(t.Context()), l.Release(t.Context())); err != nil {
		t.Error(err)
	}
	if err := l.Renew(t.Context(), 0); !errors.Is(err, egress.ErrUnknownLease) {
		t.Errorf("a released lease is renewed with %v", err)
	}
	_, err = c.Acquire(t.Context(), egress.Request{Selector: map[string]string{"country": "fr"}, Target: "shop.example"})
	if e, ok := errors.AsType[*egress.Error](err); !ok || !errors.Is(err, egress.ErrNoMatch) || e.Considered != 1 || e.InCooldown != 1 || e.RetryAfter < 9*time.Minute {
		t.Errorf("a proxy that was banned is refused with %+v", err)
	}
}

// TestGoLosesNoLease: the API acts on calls whose answers never come.
func TestGoLosesNoLease(t *testing.T) {
	a := serve(t)
	a.cut.Store(3)
	l, err := a.client().Acquire(t.Context(), egress.Request{Selector: map[string]string{"country": "de"}})
	if err != nil || a.active(t) != 1 {
		t.Fatalf("%v, with %d leases, want 1", err, a.active(t))
	}
	a.cut.Store(2)
	if err := l.Renew(t.Context(), 0); err != nil {
		t.Error(err)
	}
	a.cut.Store(2)
	if err := l.Release(t.Context()); err != nil || a.active(t) != 0 {
		t.Errorf("%v, with %d leases, want none", err, a.active(t))
	}
}

func TestGoKeepsUntilTheProxyIsGone(t *testing.T) {
	a := serve(t)
	l, err := a.client().Acquire(t.Context(), egress.Request{TTL: 3 * time.Second, Selector: map[string]string{"country": "fr"}})
	if err != nil {
		t.Fatal(err)
	}
	kept := make(chan error, 1)
	go func() { kept <- l.KeepAlive(t.Context()) }()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for first := l.ExpiresAt(); l.ExpiresAt().Before(first.Add(time.Second)); { // it lives on
		select {
		case err := <-kept:
			t.Fatalf("it was not kept: %v", err)
		case <-again.C:
		}
	}
	a.remove(t, "fr-1")
	if err := <-kept; !errors.Is(err, egress.ErrProxyGone) {
		t.Errorf("it ended with %v", err)
	}
}

func TestGoWaitsForWhoReleases(t *testing.T) {
	a := serve(t)
	c := a.client()
	only := egress.Request{Selector: map[string]string{"country": "fr"}, Wait: 30 * time.Second}
	var wg sync.WaitGroup
	for range 8 { // for one proxy that carries one lease
		wg.Go(func() {
			l, err := c.Acquire(t.Context(), only)
			if err == nil {
				err = l.Release(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if a.active(t) != 0 {
		t.Errorf("%d leases are left", a.active(t))
	}
}

func TestGoErrors(t *testing.T) {
	a := serve(t)
	for want, r := range map[*egress.Error]egress.Request{
		egress.ErrInvalidTTL:      {TTL: 2 * time.Hour},
		egress.ErrInvalidTarget:   {Target: "https://shop.example/"},
		egress.ErrInvalidSelector: {Selector: map[string]string{"a b": "c"}},
		egress.ErrInvalidSession:  {Session: "a\tb"},
		egress.ErrInvalidExclude:  {Exclude: []string{"de-1"}},
		egress.ErrInvalidKey:      {IdempotencyKey: "a b"},
	} {
		if _, err := a.client().Acquire(t.Context(), r); !errors.Is(err, want) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%+v is refused with %v, want %s", r, err, want.Code)
		}
	}
	if _, err := (&egress.Client{BaseURL: a.URL, Token: "wrong"}).List(t.Context(), egress.Filter{}); !errors.Is(err, egress.ErrUnauthorized) {
		t.Errorf("a wrong token is refused with %v", err)
	}
	key := egress.Request{IdempotencyKey: "k"}
	first, err := a.client().Acquire(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := a.client().Acquire(t.Context(), key); err != nil || again.ID != first.ID {
		t.Errorf("the same request has another lease, or none: %v", err)
	}
	key.Target = "other.example"
	if _, err := a.client().Acquire(t.Context(), key); !errors.Is(err, egress.ErrIdempotencyKeyReused) {
		t.Errorf("another request with the key is refused with %v", err)
	}
}

// TestGoRidesOutAChangeOfLeaders: a replica that does not lead refuses for a while.
func TestGoRidesOutAChangeOfLeaders(t *testing.T) {
	a := serve(t)
	a.serving.Store(&discovery.ErrNotLeading)
	timer := time.AfterFunc(300*time.Millisecond, func() { a.serving.Store(nil) })
	defer timer.Stop()
	if _, err := a.client().Acquire(t.Context(), egress.Request{}); err != nil {
		t.Error(err)
	}
	a.serving.Store(&discovery.ErrStarting)
	c := a.client()
	c.Attempts = 1
	if _, err := c.Acquire(t.Context(), egress.Request{}); !errors.Is(err, egress.ErrStarting) {
		t.Errorf("refused with %v", err)
	}
}

// TestGoKnowsEveryCode that the API has, and no other.
func TestGoKnowsEveryCode(t *testing.T) {
	var known []string
	for _, e := range []*egress.Error{
		egress.ErrNoMatch, egress.ErrUnknownLease, egress.ErrProxyGone, egress.ErrIdempotencyKeyReused, egress.ErrUnauthorized, egress.ErrInternal,
		egress.ErrInvalidBody, egress.ErrInvalidSelector, egress.ErrInvalidTTL, egress.ErrInvalidTarget, egress.ErrInvalidSession,
		egress.ErrInvalidExclude, egress.ErrInvalidWait, egress.ErrInvalidQuery, egress.ErrInvalidKey, egress.ErrInvalidResult, egress.ErrTooLarge,
		egress.ErrStoreUnavailable, egress.ErrNotLeading, egress.ErrTooManyWaiting, egress.ErrStarting, egress.ErrStopping,
		egress.ErrForbidden, egress.ErrNotFound, egress.ErrMethodNotAllowed, egress.ErrUnsupportedMediaType,
	} {
		known = append(known, e.Code)
	}
	var codes []string
	for _, code := range discovery.Codes() {
		codes = append(codes, string(code))
	}
	if slices.Sort(known); !slices.Equal(known, codes) {
		t.Errorf("clients/go knows\n%q, and the API has\n%q", known, codes)
	}
}
