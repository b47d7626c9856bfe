package reference

import (
	"strings"
	"testing"

	egress_metrics "github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/metrics"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/metrics"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func metricsPage(t *testing.T) []byte {
	t.Helper()
	m := &markdown{}
	m.text("# Metrics")
	m.text("`gatehouse run` serves them at `--metrics-address` (default http://127.0.0.1:19001/metrics), together with those of the Go runtime (`go_…`) and of the process (`process_…`).")
	metricsTable(t, m, observe.NewMetrics().Documented())
	m.text("## The PostgreSQL router")
	m.text("`gatehouse postgres` serves them at `/metrics` on `HEALTH_SERVER_PORT` (8080). A deployment is a label only if it exists; beyond 1,000 of them, and 64 SQLSTATEs, further ones are `other`.")
	metricsTable(t, m, observe.NewRouterMetrics().Documented())
	m.text("## The egress fleet")
	m.text("`gatehouse fleet` serves them at `--metrics-address` (default http://127.0.0.1:19031/metrics), together with those of the Go runtime and of the process.")
	metricsTable(t, m, fleetMetrics())
	m.text("## The super-proxy")
	m.text("`gatehouse egress` serves them at `--metrics-address` (default http://127.0.0.1:19041/metrics), and `gatehouse fleet --egress-listen` among its own, together with those of the Go runtime and of the process.")
	metricsTable(t, m, egressMetrics())
	m.text("## The forward proxy")
	m.text("`gatehouse-forward` and `gatehouse forward` serve them at `/metrics` of `--status-address`, and nothing else.")
	metricsTable(t, m, forwardMetrics())
	return m.Bytes()
}

func forwardMetrics() (all []observe.Metric) {
	for _, d := range forward.Metrics() {
		metric := observe.Metric{Name: d.Name, Type: d.Type, Help: d.Help, Watch: d.Watch}
		if d.Labels != "" {
			metric.Labels = []string{d.Labels}
		}
		all = append(all, metric)
	}
	return all
}

func fleetMetrics() []observe.Metric { return metrics.New(nil, nil).Documented() }

func egressMetrics() []observe.Metric {
	c := observe.NewCatalog()
	egress_metrics.New(c)
	return c.Documented()
}

func metricsTable(t *testing.T, m *markdown, all []observe.Metric) {
	t.Helper()
	m.head("metric", "type", "labels", "meaning", "what to watch")
	for _, metric := range all {
		if metric.Help == "" || metric.Watch == "" {
			t.Errorf("%s is not documented", metric.Name)
		}
		m.row(code(metric.Name), metric.Type, code(strings.Join(metric.Labels, "`, `")), metric.Help, metric.Watch)
	}
}
