// Package metrics counts what a super-proxy does, in a registry of the caller's, and asks
// the super-proxy for what it has now when it is scraped. Nothing here blocks.
package metrics

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Metrics are those of one super-proxy. It satisfies [egress.Metrics].
type Metrics struct {
	requests *prometheus.CounterVec   // outcome
	acquired *prometheus.HistogramVec // outcome
	server   atomic.Pointer[egress.Server]
}

// buckets are of seconds: from a lease on loopback to a wait of half a minute.
var buckets = []float64{.001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// New adds metrics to a catalog; all are zero until Of names the super-proxy.
func New(c *observe.Catalog) *Metrics {
	m := &Metrics{}
	m.requests = c.Counter(observe.Metric{
		Name: "gatehouse_egress_requests_total", Labels: []string{"outcome"},
		Help:  "Tunnels and requests of clients that were let in, by outcome: served, refused (by the destination rules), no_match (no proxy is free), unavailable (the lease API does not answer), proxy_failed (the leased proxy, and another one), target_failed (as the proxy says), gone (the client).",
		Watch: "no_match is a fleet that is too small, or rests; unavailable is the operator; proxy_failed are proxies that probes take for healthy.",
	})
	m.acquired = c.Histogram(observe.Metric{
		Name: "gatehouse_egress_acquire_seconds", Labels: []string{"outcome"},
		Help:  "Time to get a lease from the lease API, by outcome: ok, canceled (the client has gone), or the code of the refusal; with what it was asked to wait.",
		Watch: "Clients without a session wait for it at each connection.",
	}, buckets)
	for _, outcome := range egress.Outcomes() {
		m.requests.WithLabelValues(outcome)
	}
	m.acquired.WithLabelValues("ok")
	gauges, counters := m.describe()
	c.AddAll("gauge", gauges, gauges.documented()...)
	c.AddAll("counter", counters, counters.documented()...)
	return m
}

// Of names the super-proxy that is asked at each scrape.
func (m *Metrics) Of(s *egress.Server) { m.server.Store(s) }

// Requested implements [egress.Metrics].
func (m *Metrics) Requested(outcome string) { m.requests.WithLabelValues(outcome).Inc() }

// Acquired implements [egress.Metrics].
func (m *Metrics) Acquired(outcome string, took time.Duration) {
	m.acquired.WithLabelValues(outcome).Observe(took.Seconds())
}

// series are metrics of one type that are asked for.
type series struct {
	of    *Metrics
	kind  prometheus.ValueType
	items []item
}

// item is a metric whose values are known by its label, or by "" without one.
type item struct {
	observe.Metric
	desc   *prometheus.Desc
	values func(now state) map[string]float64
}

func (s *series) add(m observe.Metric, values func(state) map[string]float64) {
	s.items = append(s.items, item{m, prometheus.NewDesc(m.Name, m.Help, m.Labels, nil), values})
}

func (s *series) documented() (all []observe.Metric) {
	for _, i := range s.items {
		all = append(all, i.Metric)
	}
	return all
}

// Describe implements [prometheus.Collector].
func (s *series) Describe(to chan<- *prometheus.Desc) {
	for _, i := range s.items {
		to <- i.desc
	}
}

// Collect implements [prometheus.Collector].
func (s *series) Collect(to chan<- prometheus.Metric) {
	server := s.of.server.Load()
	if server == nil {
		return
	}
	now := stateOf(server)
	for _, i := range s.items {
		values := i.values(now)
		for _, label := range slices.Sorted(maps.Keys(values)) {
			labels := []string{label}
			if label == "" {
				labels = nil
			}
			to <- prometheus.MustNewConstMetric(i.desc, s.kind, values[label], labels...)
		}
	}
}
