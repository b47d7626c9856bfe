package lifecycle

import (
	"fmt"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// replace lets go of an instance that serves, for another: when the budget of the
// fleet grants it, and then when no lease is left on it or their time is over. The
// grant is written before the instance is touched, so that a successor counts it.
func replace(s *State, inst provider.Instance, why string) Action {
	if c := Condition(s.Proxy, egress_v1alpha1.Draining); c == nil || c.Status != meta_v1.ConditionTrue {
		return ask(s, inst, why)
	}
	if a, wait := drain(s, Condition(s.Proxy, egress_v1alpha1.Draining).LastTransitionTime); wait {
		return a
	}
	return remove(s, inst, egress_v1alpha1.ReasonReplacing, "its instance is deleted for another: "+why)
}

func ask(s *State, inst provider.Instance, why string) Action {
	if s.Granted == nil {
		return Action{Do: AskBudget}
	}
	if *s.Granted && !s.Fresh {
		return Action{Do: Refresh}
	}
	d := s.draft().seen(inst)
	if !*s.Granted {
		return d.running(egress_v1alpha1.ReasonWaitingForBudget, "its instance runs and waits to be replaced: "+why+"; enough of the fleet does not run now (--max-unavailable)").finish(DrainPoll)
	}
	return d.running(egress_v1alpha1.ReasonCreated, "its instance runs").
		draining(egress_v1alpha1.ReasonReplacing, why).finish(RequeueNow)
}

func (d draft) draining(reason, why string) draft {
	return d.condition(egress_v1alpha1.Draining, meta_v1.ConditionTrue, reason,
		fmt.Sprintf("gets no new leases, and goes when the last has ended, in %s at the latest: %s", drainTimeout(d.p), why))
}

// drain keeps new leases off and waits for those that are left, at most the time that
// the Proxy gives them since.
func drain(s *State, since meta_v1.Time) (a Action, wait bool) {
	if s.Leases == nil {
		return Action{Do: Drain}, true
	}
	left := since.Add(drainTimeout(s.Proxy)).Sub(s.Now)
	if *s.Leases <= 0 || left <= 0 {
		return Action{}, false
	}
	return s.draft().finish(min(DrainPoll, max(left, RequeueNow))), true
}
