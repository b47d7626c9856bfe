package lifecycle

import (
	"errors"
	"fmt"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// observe looks at the instance that the status names.
func observe(s *State) Action {
	p, in := s.Proxy, s.Inputs
	switch {
	case in.Err != nil && !definite(in.Err):
		return Action{Do: Finish, Err: in.Err}
	case in.ConfigErr != nil:
		return unjudged(s.draft(), in.ConfigErr)
	case in.Err == nil && madeFrom(p) == "":
		return annotate(p, in.Request.Hash)
	case s.Got == nil:
		return Action{Do: Get, Provider: Maker(p), ID: p.Status.ProviderID}
	case s.Got.gone(p):
		return lost(s)
	case s.Got.refused():
		return unreachable(s)
	case s.Got.limited() && Is(p, egress_v1alpha1.Provisioned):
		return unlooked(s)
	case s.Got.Err != nil:
		return failure(s, "look at its instance", s.Got.Err)
	}
	return look(s, s.Got.Instance)
}

// gone says whether there is no such instance, or it is another Proxy's.
func (a *Answer) gone(p *egress_v1alpha1.Proxy) bool {
	if a.Err != nil {
		return errors.Is(provider.Class(a.Err), provider.ErrNotFound)
	}
	return a.Instance.UID != string(p.UID)
}

// refused says whether the provider will never show this instance.
func (a *Answer) refused() bool { return errors.Is(provider.Class(a.Err), provider.ErrPermanent) }

// limited says whether a limit of the account, of requests perhaps, kept us from looking.
func (a *Answer) limited() bool { return errors.Is(provider.Class(a.Err), provider.ErrQuotaExceeded) }

// unjudged leaves an instance as it is while what it should be like cannot be told.
func unjudged(d draft, err error) Action {
	if Is(d.p, egress_v1alpha1.Provisioned) {
		return d.running(egress_v1alpha1.ReasonCloudInitError, oneLine(err.Error())).fail(err)
	}
	return d.waiting(egress_v1alpha1.ReasonCloudInitError, oneLine(err.Error())).fail(err)
}

// look decides by the state of the instance.
func look(s *State, inst provider.Instance) Action {
	if s.Inputs.Err == nil && inst.Hash == provider.LabelHash(s.Inputs.Request.Hash) && madeFrom(s.Proxy) != s.Inputs.Request.Hash {
		return annotate(s.Proxy, s.Inputs.Request.Hash)
	}
	switch drift := s.drift(inst); {
	case inst.State == provider.Terminating:
		return leaving(s)
	case inst.State == provider.Stopped:
		return remove(s, inst, egress_v1alpha1.ReasonReplacing, detailed("its instance has stopped", inst))
	case inst.State == provider.Running && inst.IP.IsValid() && drift != "":
		return replace(s, inst, drift)
	case inst.State == provider.Running && inst.IP.IsValid():
		return judge(s, inst)
	case inst.State != provider.Provisioning && inst.State != provider.Running:
		return failure(s, "look at its instance", fmt.Errorf("the provider says state %d, which there is not", inst.State))
	case drift != "":
		return remove(s, inst, egress_v1alpha1.ReasonReplacing, drift)
	}
	return provisions(s, inst)
}

// drift says why the instance is not what is wanted, "" if it is. The label is what it
// was made from; without one, the annotation has to do.
func (s *State) drift(inst provider.Instance) string {
	if s.Inputs.Err != nil {
		return ""
	}
	made := inst.Hash
	if made == "" {
		made = madeFrom(s.Proxy)
	}
	if provider.LabelHash(made) != provider.LabelHash(s.Inputs.Request.Hash) {
		return "the spec, user data, credentials or configuration that it was made from changed"
	}
	if left, ok := tooOldIn(s.Proxy, s.Now); ok && left <= 0 {
		return "it is older than spec.lifecycle.maxAge"
	}
	return ""
}

// leaving waits for an instance that is being deleted, by us or by somebody else.
func leaving(s *State) Action {
	d := s.draft().drop(egress_v1alpha1.Draining)
	if r := reason(s.Proxy); r == egress_v1alpha1.ReasonReplacing || r == egress_v1alpha1.ReasonProvisioningTimeout {
		return d.finish(DeletionPoll)
	}
	return d.waiting(egress_v1alpha1.ReasonReplacing, "its instance is being deleted").finish(DeletionPoll)
}

// remove deletes an instance that serves nobody. Cattle: it is not mended.
func remove(s *State, inst provider.Instance, reason, message string) Action {
	err, done := s.Deleted[inst.ID]
	if !done {
		return Action{Do: Delete, Provider: Maker(s.Proxy), ID: inst.ID}
	}
	if err != nil {
		return failure(s, "delete its instance", err)
	}
	d := s.draft().drop(egress_v1alpha1.Draining)
	if inst.State != provider.Stopped && reason == egress_v1alpha1.ReasonReplacing {
		d.p.Status.Attempts = 0 // it did not fail, it was not wanted any more
	}
	return d.waiting(reason, message).finish(DeletionPoll)
}

// provisions waits for an instance to run, but not for ever. The time counts from the
// accepted create, or from when it stopped running.
func provisions(s *State, inst provider.Instance) Action {
	p := s.Proxy
	d := s.draft()
	since := d.now.Time
	if p.Status.InstanceCreatedAt != nil {
		since = p.Status.InstanceCreatedAt.Time
	}
	if c := Condition(p, egress_v1alpha1.Provisioned); c != nil && c.LastTransitionTime.After(since) {
		since = c.LastTransitionTime.Time
	}
	if Is(p, egress_v1alpha1.Provisioned) { // it ran, and what probes found was before it stopped
		since = d.now.Time
		d.unprobed()
	}
	limit := provisioningTimeout(p)
	left := since.Add(limit).Sub(s.Now)
	if left <= 0 {
		return remove(s, inst, egress_v1alpha1.ReasonProvisioningTimeout, fmt.Sprintf("its instance did not run within %s, is deleted and made anew", limit))
	}
	if err := s.Inputs.Err; err != nil {
		return d.waiting(egress_v1alpha1.ReasonCloudInitError, oneLine(err.Error())).fail(err)
	}
	message := detailed("its instance does not run yet", inst)
	d.p.Status.LastError = nil
	if d.p.Status.InstanceCreatedAt == nil {
		d.p.Status.InstanceCreatedAt = new(d.now)
	}
	return d.waiting(egress_v1alpha1.ReasonProvisioning, message).finish(min(ProvisioningPoll, max(left, RequeueNow)))
}

// detailed adds why, if the provider knows.
func detailed(message string, inst provider.Instance) string {
	if inst.Detail == "" {
		return message
	}
	return message + ": " + oneLine(inst.Detail)
}

// runs notes an instance that runs.
func runs(s *State, inst provider.Instance) Action { return runsAs(s, s.draft(), inst) }

func runsAs(s *State, d draft, inst provider.Instance) Action {
	d.drop(egress_v1alpha1.Draining).seen(inst)
	if err := s.Inputs.Err; err != nil {
		return unjudged(d.running(egress_v1alpha1.ReasonCloudInitError, ""), err)
	}
	after := DriftPoll
	if left, ok := tooOldIn(d.p, s.Now); ok {
		after = max(RequeueNow, min(after, left))
	}
	switch left, ok := tooSickIn(s, inst); {
	case ok && left > 0:
		after = min(after, left)
	case ok && s.Unprobed:
		after = min(after, confirmPoll)
	}
	return d.running(egress_v1alpha1.ReasonCreated, "its instance runs"+s.spared(inst)).finish(after)
}

// seen notes what is known of a running instance.
func (d draft) seen(inst provider.Instance) draft {
	st := &d.p.Status
	if st.IP != "" && (st.IP != inst.IP.String() || st.ProviderID != inst.ID) { // the verdict was on the other
		d.unprobed()
	}
	st.Provider, st.ProviderID, st.IP = Maker(d.p), inst.ID, inst.IP.String()
	st.Attempts, st.Operation, st.LastError = 0, "", nil
	if st.InstanceCreatedAt == nil {
		st.InstanceCreatedAt = new(d.now)
	}
	return d
}
