package lifecycle

import (
	"errors"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// lost is for an instance that the provider says is not there. A second look, by
// another way, comes before that is believed: what is forgotten is made again.
func lost(s *State) Action {
	p := s.Proxy
	if s.Found == nil {
		return Action{Do: Find, Provider: Maker(p)}
	}
	if inst, ok := s.Found.best(p, s.Inputs.Request.Hash); ok {
		if inst.ID == p.Status.ProviderID {
			return look(s, inst)
		}
		if s.Inputs.Err == nil {
			return adopt(s, inst, RequeueNow)
		}
	}
	if err := s.Found.Err; err != nil && !partial(err) {
		return failure(s, "find its instance", err)
	}
	if s.Found.shows(p.Status.ProviderID) {
		return leaving(s)
	}
	if p.Status.Attempts > 0 && reason(p) != egress_v1alpha1.ReasonProvisioningTimeout {
		return vanished(s)
	}
	if s.Inputs.Err == nil && madeFrom(p) != s.Inputs.Request.Hash {
		return annotate(p, s.Inputs.Request.Hash)
	}
	d := s.draft().forget()
	if reason(p) != egress_v1alpha1.ReasonProvisioningTimeout {
		d.waiting(egress_v1alpha1.ReasonReplacing, "its instance is gone, another is made")
	}
	return d.finish(RequeueNow)
}

// unreachable is for an instance that the provider refuses to show: the ID is none, or
// its account is closed to us. One that a search finds takes its place. From a search that
// finds none nothing follows: it may have looked in another account. A refusal takes no
// instance away that ran: a permission that is missing for a minute is not a fleet.
func unreachable(s *State) Action {
	if s.Found == nil {
		return Action{Do: Find, Provider: Maker(s.Proxy)}
	}
	switch inst, ok := s.Found.best(s.Proxy, s.Inputs.Request.Hash); {
	case ok && inst.ID == s.Proxy.Status.ProviderID:
		return look(s, inst)
	case ok && s.Inputs.Err == nil:
		return adopt(s, inst, RequeueNow)
	}
	if !Is(s.Proxy, egress_v1alpha1.Provisioned) {
		return failure(s, "look at its instance", s.Got.Err)
	}
	return unlooked(s)
}

// unlooked leaves an instance that ran as it is, since nothing is known of it now.
func unlooked(s *State) Action {
	d := s.draft()
	d.refused(s.Got.Err, s.withoutSecrets(oneLine("cannot look at its instance: "+s.Got.Err.Error())))
	return d.finish(pause(d.p.Status.LastError.Time.Time, s.Now))
}

// settling returns how long it is until an instance that was accepted, and is not to be
// seen, is believed not to be there: what becomes of its create may not be known before.
func settling(p *egress_v1alpha1.Proxy, now time.Time) time.Duration {
	if at := p.Status.InstanceCreatedAt; at != nil {
		return min(ProvisioningPoll, at.Add(ProvisioningPoll).Sub(now))
	}
	return 0
}

// vanished is for a create that was accepted and came to nothing, or to an instance that
// went before it was seen running. Another try waits, longer each time.
func vanished(s *State) Action {
	p := s.Proxy
	if s.Outcome == nil && p.Status.Operation != "" {
		return Action{Do: AskOutcome, Provider: Maker(p), ID: p.Status.ProviderID, Operation: p.Status.Operation}
	}
	if left := settling(p, s.Now); left > 0 && (s.Outcome == nil || s.Outcome.Err == nil) {
		return s.draft().finish(left)
	}
	d := s.draft().forget()
	after := max(ProvisioningPoll, held(d.p, s.Now))
	if s.Outcome != nil && s.Outcome.Err != nil {
		return failed(s, d, "create its instance", s.Outcome.Err, after)
	}
	return d.waiting(egress_v1alpha1.ReasonProvisioning, "its instance was gone before it ran, another is made after a pause").finish(after)
}

// shows says whether a search showed the instance with this ID.
func (f *Found) shows(id string) bool {
	for _, inst := range f.Instances {
		if inst.ID == id {
			return true
		}
	}
	return false
}

func partial(err error) bool {
	_, ok := errors.AsType[*provider.PartialError](err)
	return ok
}
