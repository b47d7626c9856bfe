package lifecycle

import (
	"slices"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// draft is a copy of a Proxy with the status that the pass will write.
type draft struct {
	p   *egress_v1alpha1.Proxy
	now meta_v1.Time
}

// draft begins one. Its time has whole seconds, as a store keeps them.
func (s *State) draft() draft {
	return draft{s.Proxy.DeepCopy(), meta_v1.NewTime(s.Now.UTC().Truncate(time.Second))}
}

func (d draft) finish(after time.Duration) Action {
	return Action{Do: Finish, Proxy: d.p, After: after}
}

func (d draft) fail(err error) Action { return Action{Do: Finish, Proxy: d.p, Err: err} }

// condition sets one. The time of transition changes only with the status.
func (d draft) condition(kind string, status meta_v1.ConditionStatus, reason, message string) draft {
	c := meta_v1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: d.p.Generation, LastTransitionTime: d.now,
	}
	if old := Condition(d.p, kind); old == nil {
		d.p.Status.Conditions = append(d.p.Status.Conditions, c)
	} else {
		if old.Status == status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		*old = c
	}
	return d
}

func (d draft) drop(kind string) draft {
	d.p.Status.Conditions = slices.DeleteFunc(d.p.Status.Conditions, func(c meta_v1.Condition) bool { return c.Type == kind })
	return d
}

// running says that clients can connect.
func (d draft) running(reason, message string) draft {
	return d.condition(egress_v1alpha1.Provisioned, meta_v1.ConditionTrue, reason, message)
}

// waiting says that clients cannot connect, and why not.
func (d draft) waiting(reason, message string) draft {
	return d.condition(egress_v1alpha1.Provisioned, meta_v1.ConditionFalse, reason, message)
}

// forget lets go of an instance that is gone, with all that was known of it but when
// it was made and how often that was tried.
func (d draft) forget() draft {
	st := &d.p.Status
	st.ProviderID, st.IP, st.Operation = "", "", ""
	return d.unprobed().drop(egress_v1alpha1.Draining)
}

// unprobed lets go of what probes found: it was of another instance or address.
func (d draft) unprobed() draft {
	st := &d.p.Status
	st.LatencyMillis, st.LastHealthCheckTime, st.EgressIP = 0, nil, ""
	return d.drop(egress_v1alpha1.Healthy)
}

// Condition returns the condition of p of that type, nil without.
func Condition(p *egress_v1alpha1.Proxy, kind string) *meta_v1.Condition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// Is says whether the condition of p of that type is true.
func Is(p *egress_v1alpha1.Proxy, kind string) bool {
	c := Condition(p, kind)
	return c != nil && c.Status == meta_v1.ConditionTrue
}

// reason returns that of the condition Provisioned, "" without.
func reason(p *egress_v1alpha1.Proxy) string {
	if c := Condition(p, egress_v1alpha1.Provisioned); c != nil {
		return c.Reason
	}
	return ""
}
