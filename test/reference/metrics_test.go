package reference

import (
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func metricsPage(t *testing.T) []byte {
	t.Helper()
	m := &markdown{}
	m.text("# Metrics")
	m.text("`gatehouse run` serves them at `--metrics-address` (default http://127.0.0.1:19001/metrics), together with those of the Go runtime (`go_…`) and of the process (`process_…`).")
	m.head("metric", "type", "labels", "meaning", "what to watch")
	for _, metric := range observe.NewMetrics().Documented() {
		if metric.Help == "" || metric.Watch == "" {
			t.Errorf("%s is not documented", metric.Name)
		}
		m.row(code(metric.Name), metric.Type, code(strings.Join(metric.Labels, "`, `")), metric.Help, metric.Watch)
	}
	return m.Bytes()
}
