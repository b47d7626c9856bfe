package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// deletion lets a Proxy go once no instance of it is left, wherever a create that we
// forgot may have made one. What keeps it is a condition.
func deletion(s *State) Action {
	p := s.Proxy
	switch {
	case !Owned(p):
		return Action{Do: Finish}
	case Maker(p) == "":
		return disown(p)
	case !slices.Contains(s.Providers, Maker(p)):
		return blocked(s, egress_v1alpha1.ReasonPermanentError, unknownProvider(p, Maker(p), s.Providers))
	case s.Inputs == nil:
		return Action{Do: ReadInputs}
	case s.Inputs.ConfigErr != nil:
		return stuck(s, "reach its account", s.Inputs.ConfigErr)
	}
	if Is(p, egress_v1alpha1.Provisioned) {
		if a, wait := drainForGood(s); wait {
			return a
		}
	}
	if p.Status.ProviderID == "" {
		return search(s)
	}
	switch {
	case s.Got == nil:
		return Action{Do: Get, Provider: Maker(p), ID: p.Status.ProviderID}
	case s.Got.gone(p):
		return search(s)
	case s.Got.refused() && s.Found == nil:
		return Action{Do: Find, Provider: Maker(p)}
	case s.Got.refused() && len(s.Found.of(p)) > 0:
		return clear(s, s.Found.of(p))
	case s.Got.Err != nil:
		return stuck(s, "look at its instance", s.Got.Err)
	}
	return clear(s, []provider.Instance{s.Got.Instance})
}

// drainForGood waits for leases before a deletion, and says so.
func drainForGood(s *State) (a Action, wait bool) {
	a, wait = drain(s, *s.Proxy.DeletionTimestamp)
	if wait && a.Do == Finish {
		a.Proxy = draft{a.Proxy, s.draft().now}.draining(egress_v1alpha1.ReasonDeleting, "the Proxy is deleted").p
	}
	return a, wait
}

// search looks for instances in every scope, and lets go when there are none.
func search(s *State) Action {
	p := s.Proxy
	if s.Found == nil {
		return Action{Do: Find, Provider: Maker(p)}
	}
	if mine := s.Found.of(p); len(mine) > 0 {
		return clear(s, mine)
	}
	// A scope that cannot be seen matters only if nothing says where the instance was.
	if err := s.Found.Err; err != nil && (s.Got == nil || !partial(err)) {
		return stuck(s, "find its instance", err)
	}
	if left := unseen(s); left > 0 {
		return s.draft().finish(min(DeletionPoll, left))
	}
	return disown(p)
}

// unseen returns how long an accepted create that nobody has seen the instance of may
// still come true.
func unseen(s *State) time.Duration {
	st := &s.Proxy.Status
	if st.Attempts == 0 || st.InstanceCreatedAt == nil || reason(s.Proxy) != egress_v1alpha1.ReasonProvisioning {
		return 0
	}
	return st.InstanceCreatedAt.Add(visibility).Sub(s.Now)
}

// clear deletes instances and waits until they are gone.
func clear(s *State, instances []provider.Instance) Action {
	for _, inst := range instances {
		err, done := s.Deleted[inst.ID]
		if !done && inst.State != provider.Terminating {
			return Action{Do: Delete, Provider: Maker(s.Proxy), ID: inst.ID}
		}
		if err != nil {
			return stuck(s, "delete its instance", err)
		}
	}
	if overdue(s) {
		a := blocked(s, egress_v1alpha1.ReasonDeleting, errors.New("the provider accepted the deletion of its instance long ago, and still has it"))
		a.After = min(a.After, slowDeletionPoll)
		return a
	}
	d := s.deleting("its instance is being deleted").drop(egress_v1alpha1.DeletionBlocked)
	d.p.Status.LastError = nil
	d.p.Status.ProviderID = instances[0].ID // what is waited for
	return d.finish(DeletionPoll)
}

// deleting begins a draft of a Proxy whose instance goes for good.
func (s *State) deleting(message string) draft {
	return s.draft().drop(egress_v1alpha1.Draining).waiting(egress_v1alpha1.ReasonDeleting, message)
}

// overdue says whether a deletion has taken longer than any should.
func overdue(s *State) bool {
	patience := drainTimeout(s.Proxy) + DeletionPatience
	return s.Now.Sub(s.Proxy.DeletionTimestamp.Time) > patience
}

// stuck decides by the class of what stopped a deletion.
func stuck(s *State, doing string, err error) Action {
	if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
		return Action{Do: Finish, After: throttled.After}
	}
	err = fmt.Errorf("cannot %s: %w", doing, err)
	switch {
	case abandoned(s.Proxy):
		return disown(s.Proxy)
	case errors.Is(provider.Class(err), provider.ErrPermanent):
		return blocked(s, egress_v1alpha1.ReasonPermanentError, err)
	case definite(err):
		return blocked(s, egress_v1alpha1.ReasonCloudInitError, err)
	case overdue(s):
		return blocked(s, egress_v1alpha1.ReasonTransientError, err)
	}
	d := s.deleting("cannot " + doing + "; tried again with growing pauses, see lastError")
	d.refused(err, s.withoutSecrets(oneLine(err.Error())))
	return d.fail(fmt.Errorf("%s: %w", object(s.Proxy), err))
}

// blocked says why a Proxy stays, and lets it go if its owner has said to abandon the
// instance.
func blocked(s *State, reason string, err error) Action {
	if abandoned(s.Proxy) {
		return disown(s.Proxy)
	}
	d := s.deleting("its deletion is blocked")
	message := s.withoutSecrets(oneLine(err.Error())) + "; mend that, or let the instance stay with annotation " + egress_v1alpha1.AbandonAnnotation + `: "true"`
	if old := Condition(d.p, egress_v1alpha1.DeletionBlocked); old != nil && old.Status == meta_v1.ConditionTrue && old.Reason == reason && reason == egress_v1alpha1.ReasonTransientError {
		message = old.Message
	}
	d.condition(egress_v1alpha1.DeletionBlocked, meta_v1.ConditionTrue, reason, message)
	since := Condition(d.p, egress_v1alpha1.DeletionBlocked).LastTransitionTime.Time
	return d.finish(pause(since, s.Now))
}
