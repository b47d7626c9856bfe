package explain

import (
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Row is one Proxy of a list. Its JSON form is a stable contract.
type Row struct {
	Namespace  string        `json:"namespace"`
	Name       string        `json:"name"`
	State      verdict.State `json:"state"`
	Phase      string        `json:"phase"` // of the status; empty while nothing was accepted
	Mode       string        `json:"mode,omitempty"`
	Provider   string        `json:"provider,omitempty"`
	Zone       string        `json:"zone,omitempty"`
	Scheme     string        `json:"scheme,omitempty"`
	Address    string        `json:"address,omitempty"` // HOST:PORT
	ProviderID string        `json:"providerID,omitempty"`
	Generation int64         `json:"generation"`
	CreatedAt  *time.Time    `json:"createdAt,omitempty"`
	// InstanceCreatedAt is when the provider accepted the create.
	InstanceCreatedAt *time.Time `json:"instanceCreatedAt,omitempty"`
	// Next is when the next step is due, where that is known.
	Next   *time.Time `json:"next,omitempty"`
	Origin string     `json:"origin,omitempty"` // file:line
	// Reason and Why are of the first of the worst steps; empty when all is well.
	Reason string `json:"reason,omitempty"`
	Why    string `json:"why,omitempty"`
	// Healthy is the verdict of probes; nil without one.
	Healthy *bool `json:"healthy,omitempty"`
	// LatencyMillis is of the last good probe, or else of the one that the status has.
	LatencyMillis int64 `json:"latencyMillis,omitempty"`
	// Offer, Probe and Leases are nil as in [Answer]; of cooldowns there are few here.
	Offer  *OfferNow  `json:"offer,omitempty"`
	Probe  *ProbeNow  `json:"probe,omitempty"`
	Leases *LeasesNow `json:"leases,omitempty"`
}

// List is a whole fleet.
type List struct {
	Source string `json:"source"`
	// Held says why Proxies without a document are not deleted; empty when none waits.
	Held     string    `json:"held,omitempty"`
	Leasing  Leasing   `json:"leasing"`
	Items    []Row     `json:"items"`
	Problems []Problem `json:"problems"`
}

// Summary is the list of a fleet, in order of namespace and name.
func Summary(f Fleet, l Leasing, now time.Time) List {
	out := List{Source: f.Source, Held: f.Held, Leasing: l, Items: []Row{}, Problems: append([]Problem{}, f.Problems...)}
	for _, k := range f.Proxies {
		out.Items = append(out.Items, k.row(now))
	}
	return out
}

func (k Known) row(now time.Time) Row {
	v := Verdict(k, now)
	r := Row{Namespace: k.Namespace, Name: k.Name, State: v.State, Origin: k.Origin}
	if !k.Next.IsZero() {
		r.Next = new(k.Next.UTC())
	}
	if at := worst(v.Steps); at.Outcome != verdict.OK {
		r.Reason, r.Why = at.Reason, at.Message
		if at.Field != "" {
			r.Why = at.Field + ": " + r.Why
		}
	}
	p := k.Proxy
	if p == nil {
		return r
	}
	r.used(k, now)
	r.Phase, r.Mode, r.Provider, r.Zone = string(p.Status.Phase), string(p.Spec.Mode), p.Spec.Provider, p.Spec.Zone
	r.Scheme, r.Address, r.ProviderID, r.Generation = scheme(p), Address(p), p.Status.ProviderID, p.Generation
	r.CreatedAt = new(p.CreationTimestamp.UTC())
	if at := p.Status.InstanceCreatedAt; at != nil {
		r.InstanceCreatedAt = new(at.UTC())
	}
	if p.DeletionTimestamp != nil {
		r.Phase = "Deleting" // also before the status says so
	}
	return r
}

// used fills in how it is probed and leased.
func (r *Row) used(k Known, now time.Time) {
	if c := lifecycle.Condition(k.Proxy, egress_v1alpha1.Healthy); c != nil && c.Status != meta_v1.ConditionUnknown {
		r.Healthy = new(c.Status == meta_v1.ConditionTrue)
	}
	r.Offer, r.Probe, r.Leases = k.offerNow(), k.probeNow(), k.leasesNow(now, fewTargets)
	r.LatencyMillis = k.Proxy.Status.LatencyMillis
	if k.Probe != nil && k.Probe.ok() {
		r.LatencyMillis = k.Probe.Latency.Milliseconds()
	}
}

// badness orders outcomes.
var badness = map[verdict.Outcome]int{verdict.WasRejected: 4, verdict.WasExcluded: 3, verdict.Warning: 2, verdict.StillPending: 1}

// worst returns the first of the worst steps; OK when all are well.
func worst(steps []verdict.Step) verdict.Step {
	at := verdict.Step{Outcome: verdict.OK}
	for _, s := range steps {
		if badness[s.Outcome] > badness[at.Outcome] {
			at = s
		}
	}
	return at
}
