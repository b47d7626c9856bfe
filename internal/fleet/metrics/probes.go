package metrics

import (
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func (m *Metrics) describeProbes() {
	m.probeTimes = m.catalog.NativeHistogram(observe.Metric{
		Name: "proxy_operator_healthcheck_duration_seconds", Labels: []string{"proxy"},
		Help:  "How long probes through each proxy took, good and bad ones, from the dial to the last byte. A native histogram: Prometheus needs scrape_native_histograms; otherwise there are the sum and the count.",
		Watch: "A quantile that grows is a proxy, or a target of probes, that gets slow; the count is how often it is probed.",
	})
	m.probeFailures = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_healthcheck_failures_total", Labels: []string{"proxy"},
		Help:  "Probes through each proxy that failed, whether or not they turned the verdict. A proxy has the series from its first probe on, until it is gone.",
		Watch: "A low rate that stays is a proxy that loses some connections; 'gatehouse why proxy' has the last failure.",
	})
	m.probeResults = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_healthcheck_results_total", Labels: []string{"class"},
		Help:  "Probes by what was found: ok, dial (the proxy was not reached), auth_failed, connect_status (it refused the tunnel), tls, timeout, bad_status, broken (no answer that can be read), wrong_egress (the target saw another address).",
		Watch: "The class says whose fault it is: dial is the instance, auth_failed the Secret, bad_status the target of probes.",
	})
	m.suspended = m.catalog.Gauge(observe.Metric{
		Name:  "proxy_operator_healthcheck_suspended",
		Help:  "1 while no verdict turns bad because so many good proxies fail at once that the fault is likely our own or the target's; else 0.",
		Watch: "Alert on it: look at the target of probes and at the operator's own network.",
	}).WithLabelValues()
	for _, class := range []health.Class{
		health.OK, health.Dial, health.AuthFailed, health.ConnectStatus, health.TLSFailed, health.Timeout,
		health.BadStatus, health.Broken, health.WrongEgress,
	} {
		m.probeResults.WithLabelValues(string(class))
	}
}

// Probe implements the recorder of package health.
func (m *Metrics) Probe(key string, r health.Result) {
	m.probeResults.WithLabelValues(string(r.Class)).Inc()
	m.probeTimes.WithLabelValues(key).Observe(r.Latency.Seconds())
	failures := m.probeFailures.WithLabelValues(key)
	if r.Class != health.OK {
		failures.Inc()
	}
}

// Forget implements the recorder of package health: it drops the series of a proxy.
func (m *Metrics) Forget(key string) {
	m.probeTimes.DeleteLabelValues(key)
	m.probeFailures.DeleteLabelValues(key)
}

// Suspended implements the recorder of package health.
func (m *Metrics) Suspended(held bool) {
	m.suspended.Set(0)
	if held {
		m.suspended.Set(1)
	}
}

// ProbesEnded drops the series of all proxies: this process probes none any more.
func (m *Metrics) ProbesEnded() {
	m.probeTimes.Reset()
	m.probeFailures.Reset()
	m.suspended.Set(0)
}
