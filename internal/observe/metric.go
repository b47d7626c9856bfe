package observe

import (
	"slices"
	"strings"

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

// catalog makes metrics, registers them, and remembers their documentation, so
// that neither can exist without the other.
type catalog struct {
	registry *prometheus.Registry
	metrics  []Metric
}

// newCatalog has the metrics of the Go runtime and of the process only.
func newCatalog() *catalog {
	c := &catalog{registry: prometheus.NewRegistry()}
	c.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return c
}

func (c *catalog) counter(m Metric) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
	c.add(m, "counter", v)
	return v
}

func (c *catalog) gauge(m Metric) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
	c.add(m, "gauge", v)
	return v
}

func (c *catalog) histogram(m Metric, buckets []float64) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets}, m.Labels)
	c.add(m, "histogram", v)
	return v
}

func (c *catalog) add(m Metric, kind string, v prometheus.Collector) {
	c.registry.MustRegister(v)
	m.Type = kind
	at, _ := slices.BinarySearchFunc(c.metrics, m.Name, func(a Metric, name string) int {
		return strings.Compare(a.Name, name)
	})
	c.metrics = slices.Insert(c.metrics, at, m)
}
