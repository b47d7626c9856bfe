package crawlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/crawl"
)

// TestGo: a crawler that is written in Go goes through a proxy of HTTP and one of SOCKS5,
// with leases that end soon unless they are kept, until both are banned.
func TestGo(t *testing.T) {
	t.Parallel()
	if !alone(t, "203.0.113.9") {
		return
	}
	it := newTarget(t, "203.0.113.9", 429)
	w := newWorld(t, []string{"one", "socks"}, "203.0.113.0/24", it)
	schemes := make(map[string]bool)
	page := 1
	for {
		l, err := w.Client().Acquire(t.Context(), egress.Request{Target: it.Host(), TTL: 5 * time.Second})
		if errors.Is(err, egress.ErrNoMatch) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		schemes[l.Proxy().Scheme] = true
		if page, err = leased(t.Context(), l, it, page); err != nil {
			t.Fatal(err)
		}
	}
	if page != 2*limit+1 || !schemes["http"] || !schemes["socks5"] {
		t.Errorf("got %d pages by %v, want %d by http and socks5", page-1, schemes, 2*limit)
	}
	for _, v := range it.Visits() {
		if v.Source != w.proxies[0].Host && v.Source != w.proxies[1].Host {
			t.Errorf("%s was asked for from %s, which is no proxy", v.Path, v.Source)
		}
	}
	w.idle(t)
}

// leased gets pages through a lease until the target refuses, after the lease was kept
// beyond its life; it returns the page to go on with.
func leased(ctx context.Context, l *egress.Lease, it *crawl.Target, page int) (next int, err error) {
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	ctx, cancel := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		if err := l.KeepAlive(ctx); err != nil {
			cancel(err)
		}
	}()
	defer func() { cancel(nil); <-kept }()
	beyond := time.NewTimer(l.TTL() + time.Second)
	defer beyond.Stop()
	select {
	case <-beyond.C:
	case <-ctx.Done():
		return page, context.Cause(ctx)
	}
	for ; ; page++ {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/page/%d", it.URL, page), http.NoBody)
		if err != nil {
			return page, err
		}
		response, err := l.Transport().RoundTrip(r)
		if err != nil {
			return page, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return page, err
		}
		if response.StatusCode == it.Refusal {
			return page, l.Report(ctx, egress.RateLimited, "")
		}
	}
}
