package metrics

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/gc"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

var (
	_ gc.Recorder              = (*Metrics)(nil)
	_ provider.RequestRecorder = (*Metrics)(nil)
	_ health.Metrics           = (*Metrics)(nil)
	_ discovery.Metrics        = (*Metrics)(nil)
)

func noProxies(context.Context) ([]*egress_v1alpha1.Proxy, error) { return nil, nil }

func made(list List) *Metrics {
	return New(list, func() time.Time { return time.Unix(1700000000, 0) })
}

func page(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func has(t *testing.T, page string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func proxy(phase egress_v1alpha1.Phase, conditions ...meta_v1.Condition) *egress_v1alpha1.Proxy {
	return &egress_v1alpha1.Proxy{Status: egress_v1alpha1.ProxyStatus{Phase: phase, Conditions: conditions}}
}

func condition(name string, status meta_v1.ConditionStatus, reason string) meta_v1.Condition {
	return meta_v1.Condition{Type: name, Status: status, Reason: reason}
}

func TestEveryMetricIsServedUnderItsName(t *testing.T) {
	m := made(noProxies)
	m.Request("gcp", "create", "ok")
	m.statusWrites.WithLabelValues("phase").Inc()
	m.SweepEnded("complete")
	m.SweepRefused("objects")
	m.InstanceSwept("gcp", "orphan", "deleted")
	m.Probe("crawl/a", health.Result{Class: health.OK})
	m.ReadLeases(func(context.Context) Leases { return Leases{Active: new(1), Cooldowns: new(1), Cooling: new(1)} })
	page := page(t, m)
	for _, metric := range m.Documented() {
		if !strings.Contains(page, "# TYPE "+metric.Name+" "+metric.Type+"\n") {
			t.Errorf("%s is not served as %s", metric.Name, metric.Type)
		}
	}
	has(t, page,
		`proxy_operator_sweeps_total{outcome="complete"} 1`, `proxy_operator_sweeps_refused_total{cause="objects"} 1`,
		`proxy_operator_swept_instances_total{outcome="deleted",provider="gcp",verdict="orphan"} 1`,
		`proxy_operator_last_sweep_timestamp_seconds 1.7e+09`)
}

// TestNames holds names to https://prometheus.io/docs/practices/naming.
func TestNames(t *testing.T) {
	for _, m := range made(noProxies).Documented() {
		isTotal := strings.HasSuffix(m.Name, "_total")
		if !regexp.MustCompile(`^proxy_operator(_[a-z]+)+$`).MatchString(m.Name) || isTotal != (m.Type == "counter") {
			t.Errorf("%s is no name for a %s", m.Name, m.Type)
		}
	}
}

func TestProxiesAreCountedWhenAsked(t *testing.T) {
	var all []*egress_v1alpha1.Proxy
	m := made(func(context.Context) ([]*egress_v1alpha1.Proxy, error) { return all, nil })
	has(t, page(t, m), `proxy_operator_proxies{phase="Failed"} 0`, `proxy_operator_replacement_waits{reason="Draining"} 0`, `proxy_operator_blocked_deletions 0`)
	waiting := condition(egress_v1alpha1.Provisioned, meta_v1.ConditionTrue, egress_v1alpha1.ReasonWaitingForBudget)
	all = []*egress_v1alpha1.Proxy{
		proxy(""), proxy(egress_v1alpha1.PhasePending),
		proxy(egress_v1alpha1.PhaseReady, waiting),
		proxy(egress_v1alpha1.PhaseReady, waiting, condition(egress_v1alpha1.Draining, meta_v1.ConditionFalse, "")),
		proxy(egress_v1alpha1.PhaseReplacing, condition(egress_v1alpha1.Draining, meta_v1.ConditionTrue, "")),
		proxy(egress_v1alpha1.PhaseDeleting, condition(egress_v1alpha1.DeletionBlocked, meta_v1.ConditionTrue, "Permanent")),
		proxy("Dreaming"),
	}
	has(t, page(t, m),
		`proxy_operator_proxies{phase="Pending"} 2`, `proxy_operator_proxies{phase="Ready"} 2`, `proxy_operator_proxies{phase="Dreaming"} 1`,
		`proxy_operator_replacement_waits{reason="WaitingForBudget"} 2`, `proxy_operator_replacement_waits{reason="Draining"} 1`,
		`proxy_operator_blocked_deletions 1`)
	all = nil
	if strings.Contains(page(t, m), "Dreaming") {
		t.Error("a series outlives its last Proxy")
	}
}

func TestProxiesThatCannotBeReadAreAbsent(t *testing.T) {
	m := made(func(context.Context) ([]*egress_v1alpha1.Proxy, error) { return nil, errors.New("down") })
	page := page(t, m)
	if strings.Contains(page, "proxy_operator_proxies{") {
		t.Error("there are numbers of Proxies that could not be read")
	}
	has(t, page, `proxy_operator_last_sweep_timestamp_seconds 0`)
}

func TestCause(t *testing.T) {
	then, now := meta_v1.NewTime(time.Unix(1, 0)), meta_v1.NewTime(time.Unix(2, 0))
	type status = egress_v1alpha1.ProxyStatus
	failed := egress_v1alpha1.LastError{Class: "Transient", Message: "503", Time: then}
	later := failed
	later.Time = now
	for want, c := range map[string][]struct{ was, is status }{
		"phase":      {{status{}, status{Phase: "Ready", IP: "192.0.2.1"}}},
		"instance":   {{status{}, status{ProviderID: "a"}}, {status{IP: "a"}, status{IP: "b"}}, {status{InstanceCreatedAt: &then}, status{InstanceCreatedAt: &now}}},
		"condition":  {{status{Conditions: []meta_v1.Condition{{Type: "A", Message: "x"}}}, status{Conditions: []meta_v1.Condition{{Type: "A", Message: "y"}}}}},
		"attempt":    {{status{}, status{Attempts: 1}}, {status{}, status{Operation: "o"}}, {status{}, status{RetriedAt: "1"}}},
		"error":      {{status{}, status{LastError: &failed}}, {status{LastError: &failed}, status{LastError: &later}}},
		"health":     {{status{}, status{LatencyMillis: 3}}, {status{}, status{LastHealthCheckTime: &now}}},
		"generation": {{status{ObservedGeneration: 1}, status{ObservedGeneration: 2, Conditions: nil}}},
		"other":      {{status{Conditions: []meta_v1.Condition{{Type: "A"}}}, status{Conditions: []meta_v1.Condition{{Type: "A", ObservedGeneration: 2}}}}},
	} {
		for i, s := range c {
			if got := Cause(&s.was, &s.is); got != want {
				t.Errorf("%s %d: %s", want, i, got)
			}
		}
	}
}

// store takes writes as long as it has no error.
type store struct {
	reconcile.Objects
	err error
}

func (s *store) PatchStatus(context.Context, *egress_v1alpha1.Proxy, *egress_v1alpha1.Proxy) error {
	return s.err
}

func TestWritesThatSucceedAreCounted(t *testing.T) {
	m, s := made(noProxies), &store{}
	o := m.Objects(s)
	if err := o.PatchStatus(t.Context(), proxy("Pending"), proxy("Ready")); err != nil {
		t.Fatal(err)
	}
	s.err = reconcile.ErrNoObject
	if err := o.PatchStatus(t.Context(), proxy("Pending"), proxy("Ready")); !errors.Is(err, reconcile.ErrNoObject) {
		t.Fatal(err)
	}
	has(t, page(t, m), `proxy_operator_status_writes_total{cause="phase"} 1`)
}
