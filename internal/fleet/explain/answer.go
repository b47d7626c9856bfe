package explain

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Answer is the verdict over one Proxy, and beside it the numbers that its steps speak
// of. Its JSON form is a stable contract.
type Answer struct {
	verdict.Verdict
	// Offer and Leases are nil where nothing is leased, Leases also while the store cannot
	// be asked; Probe is nil while nobody here probes it.
	Offer  *OfferNow  `json:"offer,omitempty"`
	Probe  *ProbeNow  `json:"probe,omitempty"`
	Leases *LeasesNow `json:"leases,omitempty"`
}

// OfferNow says whether a Proxy is offered to those who ask for a lease.
type OfferNow struct {
	// Why is Offered, or the reason why it is not.
	Why        offer.Why         `json:"why"`
	Message    string            `json:"message"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// ProbeNow is how a Proxy is probed, and what the last probe found.
type ProbeNow struct {
	URL             string  `json:"url,omitempty"` // without its query
	IntervalSeconds float64 `json:"intervalSeconds"`
	Class           string  `json:"class,omitempty"` // ok, dial, timeout, …; empty before the first result
	Message         string  `json:"message,omitempty"`
	LatencyMillis   int64   `json:"latencyMillis,omitempty"` // of a good one
	// InRow is how many results in a row were good, or bad, as the last one is.
	InRow int        `json:"inRow"`
	At    *time.Time `json:"at,omitempty"`
	Next  *time.Time `json:"next,omitempty"` // absent while one is under way
	// SuspendedSince is since when no verdict turns bad.
	SuspendedSince *time.Time `json:"suspendedSince,omitempty"`
}

// LeasesNow is how a Proxy is leased.
type LeasesNow struct {
	Active int `json:"active"`
	// Capacity and PerTarget are how many there may be, in all and for one target; absent
	// for any number.
	Capacity  int `json:"capacity,omitempty"`
	PerTarget int `json:"perTarget,omitempty"`
	// Cooling is for how many targets it cools down.
	Cooling   int           `json:"cooling"`
	Cooldowns []CooldownNow `json:"cooldowns"`
}

// CooldownNow is the rest of a Proxy for a target.
type CooldownNow struct {
	Target string    `json:"target"` // empty for every target
	Until  time.Time `json:"until"`
}

// Why answers for one Proxy.
func Why(k Known, now time.Time) Answer {
	return Answer{Verdict: Verdict(k, now), Offer: k.offerNow(), Probe: k.probeNow(), Leases: k.leasesNow(now, -1)}
}

func (k Known) offerNow() *OfferNow {
	if k.Offer == nil {
		return nil
	}
	return &OfferNow{Why: k.Offer.Why, Message: k.Offer.Message, Attributes: k.Offer.Lease.Attributes}
}

func (k Known) probeNow() *ProbeNow {
	p := k.Probe
	if p == nil {
		return nil
	}
	n := &ProbeNow{
		URL: withoutQuery(p.URL), IntervalSeconds: p.Interval.Seconds(), Class: p.Class, Message: p.Message,
		InRow: p.InRow, At: moment(p.At), Next: moment(p.Next), SuspendedSince: moment(p.Suspended),
	}
	if p.ok() {
		n.LatencyMillis = p.Latency.Milliseconds()
	}
	return n
}

// leasesNow names at most so many cooldowns, all when most is negative.
func (k Known) leasesNow(now time.Time, most int) *LeasesNow {
	if k.Offer == nil || k.UseErr != "" {
		return nil
	}
	all := cooling(k.Use.Cooldowns, now)
	n := &LeasesNow{
		Active: k.Use.Active, Capacity: k.Offer.Lease.Capacity, PerTarget: k.Offer.Lease.PerTarget,
		Cooling: len(all), Cooldowns: []CooldownNow{},
	}
	for i, c := range all {
		if i == most {
			break
		}
		n.Cooldowns = append(n.Cooldowns, CooldownNow{Target: c.Target, Until: c.Until.UTC()})
	}
	return n
}

// moment is nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
