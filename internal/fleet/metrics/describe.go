package metrics

import (
	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

func (m *Metrics) describeProxies(list List) {
	m.tally(list, observe.Metric{
		Name: "proxy_operator_proxies", Labels: []string{"phase"},
		Help:  "Proxies now, by phase: Pending, Provisioning, Provisioned (runs, without a verdict of a probe), Ready, Unhealthy, Replacing, Deleting, Failed.",
		Watch: "Failed should be 0: nothing is tried again there until somebody changes the object. Pending or Provisioning that lasts is a provider that does not deliver.",
	}, phases(), phase)
	m.tally(list, observe.Metric{
		Name: "proxy_operator_replacement_waits", Labels: []string{"reason"},
		Help:  "Proxies whose replacement or deletion waits now: for others to be replaced first (WaitingForBudget), or for leases to end (Draining).",
		Watch: "Falls while a change rolls through the fleet. One that stands still waits for a replacement that does not become ready.",
	}, []string{egress_v1alpha1.ReasonWaitingForBudget, egress_v1alpha1.Draining}, waits)
	m.tally(list, observe.Metric{
		Name:  "proxy_operator_blocked_deletions",
		Help:  "Proxies that are to be deleted, and whose instance the provider does not delete.",
		Watch: "Alert on any: the instance costs money, and the object stays until it is gone or abandoned.",
	}, nil, blocked)
}

func (m *Metrics) describeRequests() {
	m.requests = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_provider_requests_total", Labels: []string{"provider", "op", "result"},
		Help:  "Calls to providers, by what was asked and what came of it: ok, or the class of the error: not_found, quota_exceeded, permanent, transient. What our own limit keeps back is not counted.",
		Watch: "permanent is a spec or a credential that is refused; quota_exceeded is a limit of the account; a rate of transient is a provider in trouble.",
	})
	m.statusWrites = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_status_writes_total", Labels: []string{"cause"},
		Help:  "Writes of the status of a Proxy, by the foremost thing that they changed: phase, instance, condition, attempt, error, health, generation, other.",
		Watch: "Nothing is written while nothing changes. A steady rate is something that flaps; its cause says what.",
	})
	m.build = m.catalog.Gauge(observe.Metric{
		Name: "proxy_operator_build_info", Labels: []string{"version", "go"},
		Help:  "1, with the version of Gatehouse and of Go.",
		Watch: "Join it to other series to compare versions.",
	})
}

func (m *Metrics) describeSweeps() {
	m.sweeps = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_sweeps_total", Labels: []string{"outcome"},
		Help:  "Sweeps for instances that nobody owns, by outcome: complete, or partial (a provider or a scope of one could not be listed).",
		Watch: "partial that lasts hides what may have leaked there; the log names the scope.",
	})
	m.sweepsRefused = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_sweeps_refused_total", Labels: []string{"cause"},
		Help:  "Sweeps that were not made or were given up, by cause: objects (what Proxies there are could not be read), namespaced (only some namespaces are watched).",
		Watch: "Nothing is deleted then, and nothing that leaked is found.",
	})
	m.sweptInstances = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_swept_instances_total", Labels: []string{"provider", "verdict", "outcome"},
		Help:  "Instances that a sweep wanted to delete, by why (orphan: its Proxy is gone; duplicate: its Proxy has another one) and what came of it: deleted, failed, spared (a last look found an owner), deferred (beyond what one sweep may delete), dry_run.",
		Watch: "A few deleted after a crash are what sweeps are for. deferred means many at once: look what the log says of them before the next sweep.",
	})
	m.lastSweep = m.catalog.Gauge(observe.Metric{
		Name:  "proxy_operator_last_sweep_timestamp_seconds",
		Help:  "When the last sweep ended that was not refused, in seconds since 1970; 0 before the first, which comes a whole interval after the start, and where another process leads.",
		Watch: "Alert when it is several intervals ago.",
	}).WithLabelValues()
}
