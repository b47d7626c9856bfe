package lifecycle

import (
	"net/netip"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// probed is a Proxy with a good verdict that verified its egress address.
func probed(edit ...func(*egress_v1alpha1.Proxy)) *egress_v1alpha1.Proxy {
	p := proxy(func(p *egress_v1alpha1.Proxy) {
		p.Spec.HealthCheck = &egress_v1alpha1.HealthCheck{URL: "http://target.example/", VerifyEgressIP: true}
		p.Status.ProviderID, p.Status.IP = "i-1", "192.0.2.1"
	})
	v := Verdict{Healthy: true, Reason: egress_v1alpha1.ReasonProbeOK, LatencyMillis: 20, EgressIP: "192.0.2.1", At: time.Unix(1_800_000_000, 0)}
	ApplyHealth(p, v, v.At)
	for _, e := range edit {
		e(p)
	}
	return p
}

// TestAVerdictBelongsToAnInstanceAndItsAddress: with another one all that probes found
// is forgotten.
func TestAVerdictBelongsToAnInstanceAndItsAddress(t *testing.T) {
	same := provider.Instance{ID: "i-1", State: provider.Running, IP: netip.MustParseAddr("192.0.2.1")}
	for name, c := range map[string]struct {
		change func(*egress_v1alpha1.Proxy)
		kept   bool
	}{
		"the same": {func(p *egress_v1alpha1.Proxy) { draft{p: p}.seen(same) }, true},
		"another address": {func(p *egress_v1alpha1.Proxy) {
			draft{p: p}.seen(provider.Instance{ID: "i-1", IP: netip.MustParseAddr("192.0.2.2")})
		}, false},
		"another instance":      {func(p *egress_v1alpha1.Proxy) { draft{p: p}.seen(provider.Instance{ID: "i-2", IP: same.IP}) }, false},
		"gone":                  {func(p *egress_v1alpha1.Proxy) { draft{p: p}.forget() }, false},
		"of another endpoint":   {func(p *egress_v1alpha1.Proxy) { ApplyHealth(p, Verdict{None: true}, time.Now()) }, false},
		"summed up":             {Conclude, true},
		"egress is not checked": {func(p *egress_v1alpha1.Proxy) { p.Spec.HealthCheck = nil }, true},
	} {
		p := probed(c.change)
		Conclude(p)
		st := p.Status
		if kept := Is(p, egress_v1alpha1.Healthy) && st.LatencyMillis == 20 && st.LastHealthCheckTime != nil; kept != c.kept {
			t.Errorf("%s: kept %v, want %v: %+v", name, kept, c.kept, st)
		}
		if c.kept && p.Spec.HealthCheck != nil != (st.EgressIP != "") || !c.kept && st.EgressIP != "" {
			t.Errorf("%s: egress address %q", name, st.EgressIP)
		}
	}
}

// TestAnExternalProxyThatMoves: the verdict was on the host that it had.
func TestAnExternalProxyThatMoves(t *testing.T) {
	p := probed(func(p *egress_v1alpha1.Proxy) {
		p.Spec.Mode, p.Spec.Provider = egress_v1alpha1.External, ""
		p.Spec.Endpoint = &egress_v1alpha1.Endpoint{Host: "192.0.2.1"}
	})
	now := time.Unix(1_800_000_100, 0)
	if a := Next(&State{Proxy: p, Now: now}); !Is(a.Proxy, egress_v1alpha1.Healthy) {
		t.Errorf("at the same host: %+v", a.Proxy.Status)
	}
	p.Spec.Endpoint.Host = "proxy.example"
	if a := Next(&State{Proxy: p, Now: now}); Condition(a.Proxy, egress_v1alpha1.Healthy) != nil || a.Proxy.Status.EgressIP != "" {
		t.Errorf("at another host: %+v", a.Proxy.Status)
	}
}

// TestWhenAnInstanceHasBeenUnhealthyForTooLong is a table of what counts.
func TestWhenAnInstanceHasBeenUnhealthyForTooLong(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	ago := func(d time.Duration) meta_v1.Time { return meta_v1.NewTime(now.Add(-d)) }
	inst := provider.Instance{ID: "i-1", State: provider.Running, IP: netip.MustParseAddr("192.0.2.1")}
	for name, c := range map[string]struct {
		ill, ran time.Duration
		verdict  *Verdict
		inst     provider.Instance
		never    bool
		left     time.Duration
	}{
		"for a while":               {ill: 10 * time.Minute, ran: time.Hour, inst: inst, left: 20 * time.Minute},
		"for too long":              {ill: 40 * time.Minute, ran: time.Hour, inst: inst, left: -10 * time.Minute},
		"since it runs":             {ill: 40 * time.Minute, ran: time.Minute, inst: inst, left: 29 * time.Minute},
		"by a clock that was ahead": {ill: -time.Hour, ran: time.Hour, inst: inst, left: 30 * time.Minute},
		"until lately":              {ill: 40 * time.Minute, ran: time.Hour, verdict: &Verdict{Healthy: true}, inst: inst, never: true},
		"again":                     {ill: 40 * time.Minute, ran: time.Hour, verdict: &Verdict{Since: now}, inst: inst, left: 30 * time.Minute},
		"at another address":        {ill: 40 * time.Minute, ran: time.Hour, inst: provider.Instance{ID: "i-1", IP: netip.MustParseAddr("192.0.2.9")}, never: true},
	} {
		p := probed(func(p *egress_v1alpha1.Proxy) {
			p.Spec.Lifecycle = &egress_v1alpha1.Lifecycle{ReplaceOnUnhealthyAfter: &meta_v1.Duration{Duration: 30 * time.Minute}}
		})
		draft{p, ago(c.ill)}.condition(egress_v1alpha1.Healthy, meta_v1.ConditionFalse, egress_v1alpha1.ReasonProbeFailed, "")
		draft{p, ago(c.ran)}.running(egress_v1alpha1.ReasonCreated, "")
		left, bounded := tooSickIn(&State{Proxy: p, Now: now, Verdict: c.verdict}, c.inst)
		if bounded == c.never || left != c.left {
			t.Errorf("%s: %s left, %v", name, left, bounded)
		}
	}
}
