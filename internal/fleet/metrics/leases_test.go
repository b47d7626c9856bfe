package metrics

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

func TestEveryProbeIsCounted(t *testing.T) {
	m := made(noProxies)
	m.Probe("crawl/a", health.Result{Class: health.OK, Latency: 250 * time.Millisecond})
	m.Probe("crawl/a", health.Result{Class: health.Timeout, Latency: 5 * time.Second})
	m.Probe("crawl/b", health.Result{Class: health.OK, Latency: time.Second})
	m.Suspended(true)
	has(t, page(t, m),
		`proxy_operator_healthcheck_duration_seconds_count{proxy="crawl/a"} 2`, `proxy_operator_healthcheck_duration_seconds_sum{proxy="crawl/a"} 5.25`,
		`proxy_operator_healthcheck_failures_total{proxy="crawl/a"} 1`, `proxy_operator_healthcheck_failures_total{proxy="crawl/b"} 0`,
		`proxy_operator_healthcheck_results_total{class="ok"} 2`, `proxy_operator_healthcheck_results_total{class="timeout"} 1`,
		`proxy_operator_healthcheck_results_total{class="wrong_egress"} 0`, `proxy_operator_healthcheck_suspended 1`)
	m.Suspended(false)
	has(t, page(t, m), `proxy_operator_healthcheck_suspended 0`)
}

// TestAProxyThatIsGoneHasNoSeries: nor has any, once this process does not probe.
func TestAProxyThatIsGoneHasNoSeries(t *testing.T) {
	m := made(noProxies)
	for _, key := range []string{"crawl/a", "crawl/b"} {
		m.Probe(key, health.Result{Class: health.Dial})
	}
	m.Forget("crawl/a")
	if p := page(t, m); strings.Contains(p, `"crawl/a"`) || !strings.Contains(p, `"crawl/b"`) {
		t.Error("the wrong series stay")
	}
	m.Suspended(true)
	m.ProbesEnded()
	if strings.Contains(page(t, m), `"crawl/`) {
		t.Error("series stay although nothing is probed")
	}
	has(t, page(t, m), `proxy_operator_healthcheck_suspended 0`, `proxy_operator_healthcheck_results_total{class="dial"} 2`)
}

func TestLeasesAreReadWhenAsked(t *testing.T) {
	m := made(noProxies)
	if strings.Contains(page(t, m), "proxy_operator_leases_active") {
		t.Error("there are numbers before there are leases")
	}
	now := Leases{Active: new(7), Waiting: 2, Offers: map[offer.Why]int{offer.Offered: 3, offer.Unhealthy: 1}}
	m.ReadLeases(func(context.Context) Leases { return now })
	p := page(t, m)
	has(t, p, `proxy_operator_leases_active 7`, `proxy_operator_lease_waiters 2`, `proxy_operator_offers{why="Offered"} 3`, `proxy_operator_offers{why="Draining"} 0`)
	if strings.Contains(p, "proxy_operator_cooldowns") {
		t.Error("there are numbers of cooldowns that the store does not know")
	}
	now.Cooldowns, now.Cooling = new(4), new(2)
	has(t, page(t, m), `proxy_operator_cooldowns 4`, `proxy_operator_cooling_proxies 2`)
	now.Active = nil
	if p := page(t, m); strings.Contains(p, "proxy_operator_leases_active") || !strings.Contains(p, "proxy_operator_offers") {
		t.Error("of a store that cannot be asked there are numbers, or those that are known are missing")
	}
}

func TestRequestsForLeases(t *testing.T) {
	m := made(noProxies)
	has(t, page(t, m), `proxy_operator_lease_requests_total{outcome="granted"} 0`, `proxy_operator_lease_requests_total{outcome="no_match"} 0`)
	for _, outcome := range []string{"granted", "granted", "no_match", "invalid_ttl"} {
		m.LeaseRequest(outcome)
	}
	has(t, page(t, m), `proxy_operator_lease_requests_total{outcome="granted"} 2`, `proxy_operator_lease_requests_total{outcome="invalid_ttl"} 1`)
	if granted, refused, failed := m.LeaseRequests(); granted != 2 || refused != 1 || failed != 1 {
		t.Errorf("%d granted, %d refused, %d failed", granted, refused, failed)
	}
}

// many are the proxies of a large fleet, each with probes of many latencies.
const many = 10_000

func probed(m *Metrics) {
	for i := range many {
		key := fmt.Sprintf("crawlers/proxy-%05d", i)
		for n := range 40 {
			m.Probe(key, health.Result{Class: health.OK, Latency: time.Duration(20+i%50+n*n) * time.Millisecond})
		}
	}
}

// TestTenThousandProxiesAreFewSeries: a native histogram is one series, and a scrape in
// text has two of it.
func TestTenThousandProxiesAreFewSeries(t *testing.T) {
	m := made(noProxies)
	probed(m)
	families, err := m.catalog.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "proxy_operator_healthcheck_duration_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		if len(f.GetMetric()) != many || len(h.GetBucket()) != 0 || len(h.GetPositiveDelta()) == 0 || len(h.GetPositiveDelta()) > 64 {
			t.Errorf("%d histograms, the first with %d classic and %d native buckets", len(f.GetMetric()), len(h.GetBucket()), len(h.GetPositiveDelta()))
		}
	}
	if n := strings.Count(page(t, m), `proxy="crawlers/`); n > 4*many {
		t.Errorf("%d lines of %d proxies", n, many)
	}
}

// TestNativeHistogramsAreServed to those who ask for them.
func TestNativeHistogramsAreServed(t *testing.T) {
	m := made(noProxies)
	m.Probe("crawl/a", health.Result{Class: health.OK, Latency: 250 * time.Millisecond})
	request := httptest.NewRequest("GET", "/metrics", nil)
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, request)
	decode := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Header()))
	for {
		var f dto.MetricFamily
		if err := decode.Decode(&f); err != nil {
			t.Fatalf("no native histogram: %v", err)
		}
		if f.GetName() == "proxy_operator_healthcheck_duration_seconds" {
			if h := f.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 1 || len(h.GetPositiveSpan()) != 1 {
				t.Errorf("%v", h)
			}
			return
		}
	}
}

func BenchmarkScrapeOfTenThousand(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := made(noProxies)
	probed(m)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for _, format := range []expfmt.Format{expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeProtoDelim)} {
		b.Run(strings.ReplaceAll(strings.SplitN(string(format), ";", 2)[0], "/", "-"), func(b *testing.B) {
			for b.Loop() {
				request := httptest.NewRequest("GET", "/metrics", nil)
				request.Header.Set("Accept", string(format))
				w := httptest.NewRecorder()
				m.Handler().ServeHTTP(w, request)
				b.ReportMetric(float64(w.Body.Len()), "B/scrape")
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/many, "B/proxy")
		})
	}
}
