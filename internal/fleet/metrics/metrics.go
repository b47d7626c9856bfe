// Package metrics counts what a fleet does, and turns its Proxies into numbers when
// they are asked for: series that are counted up and down drift, and stay when their
// object is gone.
//
// It satisfies the recorders of the packages that it counts for, which do not know it;
// only the composition root makes one. A scrape reads the Proxies and blocks as long as
// that takes; nothing else here blocks.
package metrics

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// Metrics are those of one running fleet, in a registry of their own.
type Metrics struct {
	catalog *observe.Catalog
	now     func() time.Time

	requests       *prometheus.CounterVec // provider, op, result
	statusWrites   *prometheus.CounterVec // cause
	sweeps         *prometheus.CounterVec // outcome
	sweepsRefused  *prometheus.CounterVec // cause
	sweptInstances *prometheus.CounterVec // provider, verdict, outcome
	lastSweep      prometheus.Gauge       // Unix seconds
	build          *prometheus.GaugeVec   // version, go

	probeTimes    *prometheus.HistogramVec // proxy
	probeFailures *prometheus.CounterVec   // proxy
	probeResults  *prometheus.CounterVec   // class
	suspended     prometheus.Gauge         // 0 or 1
	leaseRequests *prometheus.CounterVec   // outcome
	asked         asked
	leases        atomic.Pointer[LeaseSource]
}

// List returns all Proxies, perhaps from a cache; they are not changed.
type List func(ctx context.Context) ([]*egress_v1alpha1.Proxy, error)

// New returns metrics that are all zero. The list is asked at each scrape; while it fails,
// the series that come from it are absent.
func New(list List, now func() time.Time) *Metrics {
	m := &Metrics{catalog: observe.NewCatalog(), now: now}
	m.describeProxies(list)
	m.describeRequests()
	m.describeSweeps()
	m.describeProbes()
	m.describeLeases()
	m.build.WithLabelValues(version.Number, runtime.Version()).Set(1)
	return m
}

// Documented returns the documentation of all metrics but those of the Go runtime and the
// process, in order of name.
func (m *Metrics) Documented() []observe.Metric { return m.catalog.Documented() }

// Catalog is where metrics of what runs within the fleet are added.
func (m *Metrics) Catalog() *observe.Catalog { return m.catalog }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.catalog.Registry, promhttp.HandlerOpts{Registry: m.catalog.Registry})
}

// Request implements the recorder of package provider.
func (m *Metrics) Request(provider, op, result string) {
	m.requests.WithLabelValues(provider, op, result).Inc()
}

// SweepEnded implements the recorder of package gc.
func (m *Metrics) SweepEnded(outcome string) {
	m.sweeps.WithLabelValues(outcome).Inc()
	m.lastSweep.Set(float64(m.now().Unix()))
}

// SweepRefused implements the recorder of package gc.
func (m *Metrics) SweepRefused(cause string) { m.sweepsRefused.WithLabelValues(cause).Inc() }

// InstanceSwept implements the recorder of package gc.
func (m *Metrics) InstanceSwept(provider, verdict, outcome string) {
	m.sweptInstances.WithLabelValues(provider, verdict, outcome).Inc()
}
