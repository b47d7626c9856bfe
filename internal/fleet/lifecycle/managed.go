package lifecycle

import (
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// managed is the machine of a Proxy whose instance we make. The order of its questions
// is the contract:
//
//  1. an instance that is known has a finalizer; others get it when a create is imminent
//  2. a refusal for good holds until the spec or the annotation to retry changes
//  3. a provider that is not on is such a refusal, that of settings
//  4. Secrets are read, and 5. the hash is computed
//  6. without an instance: one is found, or created
//  7. one whose hash is not noted is adopted; 8. one with another hash is replaced;
//  9. one with the right hash is looked at
//  10. what the provider refuses on the way goes to failure
func managed(s *State) Action {
	p := s.Proxy
	if p.Status.ProviderID != "" && !Owned(p) {
		return own(p)
	}
	if latched(p) {
		return s.draft().finish(0)
	}
	if err := impossible(s); err != nil {
		return s.refuse(err)
	}
	if s.Inputs == nil {
		return Action{Do: ReadInputs}
	}
	if p.Status.ProviderID == "" {
		return create(s)
	}
	return observe(s)
}

// latched says whether the provider has refused this generation for good.
func latched(p *egress_v1alpha1.Proxy) bool {
	return reason(p) == egress_v1alpha1.ReasonPermanentError && p.Status.LastError != nil && !changed(p)
}

// changed says whether the user has changed the spec, or asked for another try, since
// the condition Provisioned was last decided.
func changed(p *egress_v1alpha1.Proxy) bool {
	c := Condition(p, egress_v1alpha1.Provisioned)
	return c == nil || c.ObservedGeneration != p.Generation || p.Status.RetriedAt != retry(p)
}

// refuse says that settings or fields make an instance impossible. Nobody was asked,
// so it is decided anew each time.
func (s *State) refuse(err error) Action {
	d := s.draft()
	d.p.Status.LastError = nil
	return d.waiting(egress_v1alpha1.ReasonPermanentError, oneLine(err.Error())).finish(0)
}

// create makes an instance, unless there is one already that a crash, a lost write or
// an edit of the status made us forget.
func create(s *State) Action {
	p := s.Proxy
	if err := s.Inputs.Err; err != nil {
		return s.draft().waiting(egress_v1alpha1.ReasonCloudInitError, oneLine(err.Error())).fail(err)
	}
	if left := held(p, s.Now); left > 0 {
		return s.draft().finish(left)
	}
	if !Owned(p) {
		return own(p)
	}
	if s.Found == nil {
		return Action{Do: Find, Provider: p.Spec.Provider}
	}
	if found, ok := s.Found.best(p, s.Inputs.Request.Hash); ok {
		return adopt(s, found, RequeueNow)
	}
	if s.Found.Err != nil {
		return failure(s, "find its instance", s.Found.Err)
	}
	if len(s.Found.of(p)) > 0 {
		return s.draft().forget().waiting(egress_v1alpha1.ReasonReplacing, "its former instance is being deleted").finish(DeletionPoll)
	}
	if s.Created == nil {
		return Action{Do: Create, Provider: p.Spec.Provider}
	}
	if s.Created.Err != nil {
		return failure(s, "create its instance", s.Created.Err)
	}
	return adopt(s, s.Created.Instance, ProvisioningPoll)
}

// held returns how long the next create has to wait: after one that came to nothing, or
// met a limit of the account. The clock of both is in the status, so that neither a
// restart nor an event shortens it.
func held(p *egress_v1alpha1.Proxy, now time.Time) time.Duration {
	st := &p.Status
	switch {
	case changed(p):
		return 0
	case reason(p) == egress_v1alpha1.ReasonQuotaExceeded && st.LastError != nil:
		return rest(st.LastError.Time, QuotaRetry, now)
	case st.InstanceCreatedAt != nil:
		return rest(*st.InstanceCreatedAt, Backoff(st.Attempts), now)
	}
	return 0
}

// rest returns what is left of a pause since a time. One that is still to come is of a
// clock that was ahead, of an earlier leader perhaps, and holds up nothing.
func rest(since meta_v1.Time, pause time.Duration, now time.Time) time.Duration {
	if since.After(now) {
		return 0
	}
	return since.Add(pause).Sub(now)
}

// adopt makes an instance that was just created, or found, that of the Proxy. It may
// have been made from something else: the annotation says what from, and the next pass
// replaces it.
func adopt(s *State, inst provider.Instance, after time.Duration) Action {
	p, hash := s.Proxy, s.Inputs.Request.Hash
	if inst.Hash != "" && inst.Hash != provider.LabelHash(hash) {
		hash = inst.Hash
	}
	if provider.LabelHash(madeFrom(p)) != provider.LabelHash(hash) {
		return annotate(p, hash)
	}
	d := s.draft()
	st := &d.p.Status
	if s.Created == nil && inst.State == provider.Running && inst.IP.IsValid() && hash == s.Inputs.Request.Hash {
		st.InstanceCreatedAt = d.born(inst)
		return runsAs(s, d, inst)
	}
	d.forget()
	st.Provider, st.ProviderID, st.Operation = p.Spec.Provider, inst.ID, inst.Operation
	st.RetriedAt, st.LastError = retry(p), nil
	st.InstanceCreatedAt = new(d.now)
	if s.Created != nil {
		st.Attempts++
	}
	st.Attempts = max(st.Attempts, 1)
	return d.waiting(egress_v1alpha1.ReasonProvisioning, "its instance does not run yet").finish(after)
}

// born returns when a running instance that was found was made: by its provider, whose
// clock may be ahead of ours.
func (d draft) born(inst provider.Instance) *meta_v1.Time {
	if age := inst.CreatedAt; !age.IsZero() && age.Before(d.now.Time) {
		return new(meta_v1.NewTime(age.UTC().Truncate(time.Second)))
	}
	return new(d.now)
}

// of returns the found instances that are those of p.
func (f *Found) of(p *egress_v1alpha1.Proxy) []provider.Instance {
	var mine []provider.Instance
	for _, inst := range f.Instances {
		if inst.UID == string(p.UID) {
			mine = append(mine, inst)
		}
	}
	return mine
}

// best returns the instance to adopt: the one that is known, else one with the right
// hash, else any that is not being deleted, by ID. Others are the sweeper's.
func (f *Found) best(p *egress_v1alpha1.Proxy, hash string) (best provider.Instance, ok bool) {
	score := func(inst provider.Instance) int {
		switch {
		case inst.ID == p.Status.ProviderID:
			return 2
		case inst.Hash == provider.LabelHash(hash):
			return 1
		}
		return 0
	}
	for _, inst := range f.of(p) {
		if inst.State == provider.Terminating {
			continue
		}
		if !ok || score(inst) > score(best) || score(inst) == score(best) && inst.ID < best.ID {
			best, ok = inst, true
		}
	}
	return best, ok
}
