package lifecycle

import (
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// Conclude sums up the status of p, at the end of a pass.
func Conclude(p *egress_v1alpha1.Proxy) {
	p.Status.ObservedGeneration = p.Generation
	if h := p.Spec.HealthCheck; h == nil || !h.VerifyEgressIP {
		p.Status.EgressIP = ""
	}
	p.Status.Phase = ComputePhase(p)
}

// ComputePhase sums up the conditions of p in a word. That an instance goes wins over
// what probes say of it.
func ComputePhase(p *egress_v1alpha1.Proxy) egress_v1alpha1.Phase {
	c := Condition(p, egress_v1alpha1.Provisioned)
	switch {
	case p.DeletionTimestamp != nil:
		return egress_v1alpha1.PhaseDeleting
	case c == nil:
		return egress_v1alpha1.PhasePending
	case c.Status != meta_v1.ConditionTrue:
		return notRunning(p, c.Reason)
	case Is(p, egress_v1alpha1.Draining):
		return egress_v1alpha1.PhaseReplacing
	default:
		return judged(p)
	}
}

func notRunning(p *egress_v1alpha1.Proxy, reason string) egress_v1alpha1.Phase {
	switch reason {
	case egress_v1alpha1.ReasonPermanentError:
		return egress_v1alpha1.PhaseFailed
	case egress_v1alpha1.ReasonReplacing:
		return egress_v1alpha1.PhaseReplacing
	case egress_v1alpha1.ReasonProvisioning, egress_v1alpha1.ReasonProvisioningTimeout:
		return egress_v1alpha1.PhaseProvisioning
	}
	if p.Status.ProviderID != "" {
		return egress_v1alpha1.PhaseProvisioning
	}
	return egress_v1alpha1.PhasePending
}

func judged(p *egress_v1alpha1.Proxy) egress_v1alpha1.Phase {
	c := Condition(p, egress_v1alpha1.Healthy)
	switch {
	case c == nil || c.Status == meta_v1.ConditionUnknown:
		return egress_v1alpha1.PhaseProvisioned
	case c.Status == meta_v1.ConditionTrue:
		return egress_v1alpha1.PhaseReady
	default:
		return egress_v1alpha1.PhaseUnhealthy
	}
}

// Serves says whether clients can and may connect: p runs and is not about to go.
func Serves(p *egress_v1alpha1.Proxy) bool {
	return p.DeletionTimestamp == nil && Is(p, egress_v1alpha1.Provisioned) && !Is(p, egress_v1alpha1.Draining)
}

// Verdict is what probes found. LatencyMillis and At are of the last probe that is
// worth a write.
type Verdict struct {
	Healthy         bool
	Reason, Message string // a Reason of the condition Healthy, and one line
	LatencyMillis   int64
	At              time.Time
	// Since is when the verdict became what it is, zero if that was before this process.
	Since time.Time
	// EgressIP is where targets see the proxy's connections come from, empty where that
	// was not asked.
	EgressIP string
	// None takes back what the status says: that was of another endpoint.
	None bool
}

// ApplyHealth puts a verdict into the status of p.
func ApplyHealth(p *egress_v1alpha1.Proxy, v Verdict, now time.Time) {
	if v.None {
		draft{p: p}.unprobed()
		return
	}
	status := meta_v1.ConditionFalse
	if v.Healthy {
		status = meta_v1.ConditionTrue
	}
	d := draft{p, meta_v1.NewTime(now.UTC().Truncate(time.Second))}
	d.condition(egress_v1alpha1.Healthy, status, v.Reason, v.Message)
	if v.EgressIP != "" {
		p.Status.EgressIP = v.EgressIP
	}
	p.Status.LatencyMillis = v.LatencyMillis
	p.Status.LastHealthCheckTime = new(meta_v1.NewTime(v.At.UTC().Truncate(time.Second)))
}
