package lifecycle

import (
	"fmt"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// confirmPoll is when to look again whether a verdict was confirmed, which is no news.
const confirmPoll = 30 * time.Second

// judge keeps a running instance that is as wanted, unless its probes fail for too long.
// When so many fail that it is likely no fault of theirs, none is replaced for that: new
// ones would be no better, and what is the matter would take the fleet away. Nor is one
// that may have recovered while nobody looked.
func judge(s *State, inst provider.Instance) Action {
	if left, ok := tooSickIn(s, inst); ok && left <= 0 && !s.Doubtful && !s.Unprobed {
		return replace(s, inst, sick(s.Proxy))
	}
	return runs(s, inst)
}

// tooSickIn returns how long the instance of p may still be unhealthy, false for ever.
// That begins with the verdict, or when it last began to run, if that is later.
func tooSickIn(s *State, inst provider.Instance) (time.Duration, bool) {
	p := s.Proxy
	l, c, ran := p.Spec.Lifecycle, Condition(p, egress_v1alpha1.Healthy), Condition(p, egress_v1alpha1.Provisioned)
	switch {
	case l == nil || l.ReplaceOnUnhealthyAfter == nil || l.ReplaceOnUnhealthyAfter.Duration <= 0:
		return 0, false
	case c == nil || c.Status != meta_v1.ConditionFalse || inst.IP.String() != p.Status.IP:
		return 0, false
	case s.Verdict != nil && s.Verdict.Healthy: // the status does not know yet
		return 0, false
	case ran == nil || ran.Status != meta_v1.ConditionTrue:
		return l.ReplaceOnUnhealthyAfter.Duration, true
	}
	since := c.LastTransitionTime.Time
	if ran.LastTransitionTime.After(since) {
		since = ran.LastTransitionTime.Time
	}
	if s.Verdict != nil && s.Verdict.Since.After(since) { // it was good meanwhile, which was not written
		since = s.Verdict.Since
	}
	return l.ReplaceOnUnhealthyAfter.Duration - max(0, s.Now.Sub(since)), true
}

// sick says why an instance is replaced for its health.
func sick(p *egress_v1alpha1.Proxy) string {
	return fmt.Sprintf("its probes have failed for longer than spec.lifecycle.replaceOnUnhealthyAfter, %s (%s)",
		p.Spec.Lifecycle.ReplaceOnUnhealthyAfter.Duration, Condition(p, egress_v1alpha1.Healthy).Reason)
}

// spared says that an instance is kept that would be replaced for its health.
func (s *State) spared(inst provider.Instance) string {
	if left, ok := tooSickIn(s, inst); ok && left <= 0 && !s.Unprobed {
		return "; " + sick(s.Proxy) + ", but so do too many others: none is replaced for that now"
	}
	return ""
}
