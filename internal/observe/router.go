package observe

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gatehouse-proxy/gatehouse/internal/version"
)

// RouterMetrics are the metrics of one running database router, in a registry of their own.
type RouterMetrics struct {
	Registry *prometheus.Registry

	Connects          *prometheus.CounterVec   // deployment, outcome, sqlstate
	ConnectSeconds    *prometheus.HistogramVec // phase
	Sessions          *prometheus.GaugeVec     // deployment
	Held              prometheus.Gauge
	Ended             *prometheus.CounterVec // deployment, by
	Bytes             *prometheus.CounterVec // deployment, from
	Fenced            *prometheus.CounterVec // deployment
	AuthFailures      *prometheus.CounterVec // deployment
	Cancels           *prometheus.CounterVec // outcome
	CancelPeers       *prometheus.CounterVec // outcome
	Connections       *prometheus.GaugeVec   // state
	Dropped           *prometheus.CounterVec // why
	AcceptFailures    prometheus.Counter
	HandshakeFailures prometheus.Counter
	Problems          *prometheus.GaugeVec // reason
	Deployments       prometheus.Gauge
	CertificateExpiry prometheus.Gauge // Unix seconds
	CertRefused       prometheus.Gauge // 0 or 1
	Ready             prometheus.Gauge
	Build             *prometheus.GaugeVec // version, go

	documented []Metric
}

// connecting are histogram bounds in seconds: from a router and server on one machine to
// the timeouts of 10 s each.
var connecting = []float64{.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}

// NewRouterMetrics returns metrics that are all zero.
func NewRouterMetrics() *RouterMetrics {
	c := NewCatalog()
	m := &RouterMetrics{Registry: c.Registry}
	m.describeConnects(c)
	m.describeSessions(c)
	m.describeConnections(c)
	m.describeDeployments(c)
	m.Build.WithLabelValues(version.Number, runtime.Version()).Set(1)
	m.documented = c.Documented()
	return m
}

// Documented returns the documentation of all metrics but those of the Go runtime and the
// process, in order of name.
func (m *RouterMetrics) Documented() []Metric { return m.documented }

// Handler serves the metrics, and lets measure bring those up to date first that nobody
// counts as they change.
func (m *RouterMetrics) Handler(measure func()) http.Handler {
	serve := promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{Registry: m.Registry})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		measure()
		serve.ServeHTTP(w, r)
	})
}
