package health

import (
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// reasons of the condition Healthy; any other class is ProbeFailed.
var reasons = map[Class]string{
	OK: egress_v1alpha1.ReasonProbeOK, AuthFailed: egress_v1alpha1.ReasonAuthFailed,
	BadStatus: egress_v1alpha1.ReasonBadStatus, WrongEgress: egress_v1alpha1.ReasonWrongEgress,
}

// verdict says in the words of a status what is worth a write.
func (s *state) verdict(got Result, now time.Time) *lifecycle.Verdict {
	v := &lifecycle.Verdict{
		Healthy: *s.record.verdict, Reason: reasons[got.Class], Message: got.Message,
		LatencyMillis: got.Latency.Milliseconds(), At: now, Since: s.record.since,
	}
	switch {
	case v.Reason == "":
		v.Reason = egress_v1alpha1.ReasonProbeFailed
	case got.Class == OK && s.proxy.Check.URL == "":
		v.Message = "connections to it succeed; no URL is asked through it"
	case got.Class == OK:
		v.Message = "probes through it succeed"
	}
	if v.Healthy && s.proxy.Check.VerifyEgress && s.proxy.Egress.IsValid() {
		v.EgressIP = s.proxy.Egress.String()
	}
	return v
}

// Snapshot implements [reconcile.Health]: the verdict that is worth a write, if it is
// about the instance of p as it is in p, at its address; false without one. What is known
// of an endpoint that p no longer has is taken back.
func (e *Engine) Snapshot(p *egress_v1alpha1.Proxy) (lifecycle.Verdict, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.states[p.Namespace+"/"+p.Name]
	switch {
	case s == nil || s.proxy.UID != string(p.UID):
		return lifecycle.Verdict{}, false
	case s.snapshot != nil && s.proxy.Instance == offer.Instance(p):
		return *s.snapshot, true
	case p.Spec.Mode == egress_v1alpha1.External && (s.moved || s.proxy.Instance != offer.Instance(p)):
		return lifecycle.Verdict{None: true}, true
	}
	return lifecycle.Verdict{}, false
}

// Probed implements [reconcile.Health]: probes of this engine came to the verdict on p, or
// would have, had it not been taken over.
func (e *Engine) Probed(p *egress_v1alpha1.Proxy) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.states[p.Namespace+"/"+p.Name]
	return s != nil && s.proxy.UID == string(p.UID) && s.record.confirmed(s.proxy.Check)
}
