package gc

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Verdict says what a sweep makes of one instance.
type Verdict string

// Verdicts. Only an Orphan and a Duplicate are deleted; all others are reasons to spare.
const (
	// Orphan carries our labels, and no Proxy has its UID.
	Orphan Verdict = "orphan"
	// Duplicate carries the UID of a Proxy whose status names another instance.
	Duplicate Verdict = "duplicate"

	Foreign   Verdict = "foreign"   // without a UID, or of another cluster: not ours to touch
	Young     Verdict = "young"     // perhaps of a Proxy that we do not see yet
	Leaving   Verdict = "leaving"   // is being deleted already
	Owned     Verdict = "owned"     // its Proxy names it
	Unclaimed Verdict = "unclaimed" // its Proxy names none yet: the reconciler adopts one
	Owner     Verdict = "owner"     // its Proxy is being deleted, and takes it along
)

// kills says whether an instance with this verdict is deleted.
func (v Verdict) kills() bool { return v == Orphan || v == Duplicate }

// Sighting is one instance in the list of a provider.
type Sighting struct {
	// Provider is the name that spec.provider has.
	Provider string
	provider.Instance
	// Since is when this process first saw it, by our clock.
	Since time.Time
	// Failures counts deletions of it that the provider refused to this process.
	Failures int
}

// Rules are the same for all instances of a sweep.
type Rules struct {
	// Cluster is the label of our instances.
	Cluster string
	// MinAge spares what may have been created a moment ago.
	MinAge time.Duration
}

// MaxSkew is how far the clock of a provider may be behind ours without any effect.
const MaxSkew = time.Hour

// Judge returns what becomes of an instance whose UID the Proxy owner has, nil without
// one. Deletion needs evidence on all counts: whatever is absent, unknown or
// undecided spares the instance.
func (r Rules) Judge(s Sighting, owner *egress_v1alpha1.Proxy, now time.Time) Verdict {
	switch {
	case s.UID == "" || r.Cluster == "" || s.Cluster != r.Cluster:
		return Foreign
	case s.State == provider.Terminating:
		return Leaving
	case !r.old(s, now):
		return Young
	case owner == nil:
		return Orphan
	case owner.UID != types.UID(s.UID):
		return Unclaimed // the wrong owner was asked: no evidence
	case owner.DeletionTimestamp != nil:
		return Owner
	case owner.Status.ProviderID == "":
		return Unclaimed
	case owner.Status.ProviderID == s.ID && maker(owner) == s.Provider:
		return Owned
	default:
		return Duplicate
	}
}

// old says whether the instance is older than MinAge for certain. That we have known it
// for so long proves it, whatever the provider's clock says; that the provider says so
// is believed when its clock would have to be off by more than MaxSkew to be wrong.
func (r Rules) old(s Sighting, now time.Time) bool {
	if !s.Since.IsZero() && now.Sub(s.Since) >= r.MinAge {
		return true
	}
	return !s.CreatedAt.IsZero() && now.Sub(s.CreatedAt) >= r.MinAge+MaxSkew
}

// maker is the provider that made the instance which the status names.
func maker(p *egress_v1alpha1.Proxy) string {
	if p.Status.Provider != "" {
		return p.Status.Provider
	}
	return p.Spec.Provider
}
