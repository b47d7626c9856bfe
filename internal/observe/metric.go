package observe

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metric documents one metric.
type Metric struct {
	Name   string
	Type   string // counter, gauge, histogram
	Labels []string
	Help   string
	// Watch says what a value tells and when to act.
	Watch string
}

// Catalog makes metrics, registers them, and remembers their documentation, so
// that neither can exist without the other.
type Catalog struct {
	// Registry has the metrics.
	Registry *prometheus.Registry
	metrics  []Metric
}

// NewCatalog has the metrics of the Go runtime and of the process only.
func NewCatalog() *Catalog {
	c := &Catalog{Registry: prometheus.NewRegistry()}
	c.Registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return c
}

// Documented returns the documentation of all metrics but those of the Go runtime and the
// process, in order of name.
func (c *Catalog) Documented() []Metric { return c.metrics }

// Counter adds a counter.
func (c *Catalog) Counter(m Metric) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
	c.Add(m, "counter", v)
	return v
}

// Gauge adds a gauge.
func (c *Catalog) Gauge(m Metric) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
	c.Add(m, "gauge", v)
	return v
}

// Histogram adds a histogram with these upper bounds.
func (c *Catalog) Histogram(m Metric, buckets []float64) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets}, m.Labels)
	c.Add(m, "histogram", v)
	return v
}

// Most buckets of a native histogram, and how coarse they are: each is at most a fifth
// wider than the one before.
const (
	nativeFactor  = 1.2
	nativeBuckets = 64
	nativeReset   = time.Hour
)

// NativeHistogram adds a histogram without fixed bounds: one series whatever it observes,
// for metrics with many labels. Scrapes in text have its sum and its count alone.
func (c *Catalog) NativeHistogram(m Metric) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Name, Help: m.Help, NativeHistogramBucketFactor: nativeFactor,
		NativeHistogramMaxBucketNumber: nativeBuckets, NativeHistogramMinResetDuration: nativeReset,
	}, m.Labels)
	c.Add(m, "histogram", v)
	return v
}

// Add adds a metric of a kind (counter, gauge, histogram) that v collects.
func (c *Catalog) Add(m Metric, kind string, v prometheus.Collector) { c.AddAll(kind, v, m) }

// AddAll adds metrics of a kind that v collects all at once.
func (c *Catalog) AddAll(kind string, v prometheus.Collector, all ...Metric) {
	c.Registry.MustRegister(v)
	for _, m := range all {
		m.Type = kind
		at, _ := slices.BinarySearchFunc(c.metrics, m.Name, func(a Metric, name string) int {
			return strings.Compare(a.Name, name)
		})
		c.metrics = slices.Insert(c.metrics, at, m)
	}
}
