package metrics

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Leases are numbers of leases at one moment.
type Leases struct {
	// Waiting is how many requests wait for a lease here.
	Waiting int
	// Active is how many leases there are, Cooldowns how many pairs of a proxy and a target,
	// and Cooling how many offered proxies have one. Nil while nobody can tell.
	Active, Cooldowns, Cooling *int
	// Offers counts the proxies by whether they are offered, and why not.
	Offers map[offer.Why]int
}

// LeaseSource reads the numbers, at each scrape. Those that are nil have no series.
type LeaseSource func(ctx context.Context) Leases

// ReadLeases makes scrapes read the numbers of leases from a source; before, their series
// are absent.
func (m *Metrics) ReadLeases(source LeaseSource) { m.leases.Store(&source) }

// asked counts the answers to requests for a lease, for those who ask for totals.
type asked struct{ granted, refused, failed atomic.Uint64 }

// Outcomes of requests for a lease that totals tell apart.
const (
	granted = "granted"
	noMatch = "no_match"
)

func (m *Metrics) describeLeases() {
	m.leaseRequests = m.catalog.Counter(observe.Metric{
		Name: "proxy_operator_lease_requests_total", Labels: []string{"outcome"},
		Help:  "Requests for a lease, by outcome: granted, no_match (no proxy fits now), or the code that it was refused with, such as store_unavailable, not_leading, too_many_waiting, invalid_selector, unauthorized.",
		Watch: "The share of no_match says that the fleet is too small, ill or banned; store_unavailable is an outage of the store.",
	})
	for _, outcome := range []string{granted, noMatch, "store_unavailable", "not_leading", "too_many_waiting"} {
		m.leaseRequests.WithLabelValues(outcome)
	}
	m.catalog.AddAll("gauge", &leaseNumbers{m}, leaseGauges...)
}

// leaseGauges are read from a [LeaseSource], in the order of [leaseNumbers.Collect].
var leaseGauges = []observe.Metric{
	{
		Name:  "proxy_operator_leases_active",
		Help:  "Leases now. With a store that several processes share, each of them tells the number of all: take the maximum.",
		Watch: "Beside the capacity of the fleet: what is near it will soon answer no_match.",
	},
	{
		Name:  "proxy_operator_lease_waiters",
		Help:  "Requests that wait in this process for a proxy (?wait=).",
		Watch: "Some are a fleet that is just large enough; at 1024 further ones are refused.",
	},
	{
		Name:  "proxy_operator_cooldowns",
		Help:  "Pairs of a proxy and a target for which it cools down now. Take the maximum of several processes.",
		Watch: "A steep rise is a target that has begun to ban, or a crawler that reports everything as a ban.",
	},
	{
		Name:  "proxy_operator_cooling_proxies",
		Help:  "Proxies that are offered and cool down for some target now. Take the maximum of several processes.",
		Watch: "Beside the proxies that are offered: when most of them cool down, crawl slower or let the fleet grow.",
	},
	{
		Name: "proxy_operator_offers", Labels: []string{"why"},
		Help:  "Proxies by whether they are offered to whoever asks for a lease: Offered, or the first reason why not: Deleting, NotRunning, Draining, CredentialsMissing, NotProbed, Unhealthy.",
		Watch: "Offered is what crawlers can get. CredentialsMissing and Unhealthy want somebody; the others pass.",
	},
}

// LeaseRequest implements the recorder of package discovery.
func (m *Metrics) LeaseRequest(outcome string) {
	m.leaseRequests.WithLabelValues(outcome).Inc()
	switch outcome {
	case granted:
		m.asked.granted.Add(1)
	case noMatch:
		m.asked.refused.Add(1)
	default:
		m.asked.failed.Add(1)
	}
}

// LeaseRequests returns how many requests for a lease were granted, found no proxy, and
// failed otherwise, since the start.
func (m *Metrics) LeaseRequests() (granted, refused, failed uint64) {
	return m.asked.granted.Load(), m.asked.refused.Load(), m.asked.failed.Load()
}

// leaseNumbers reads the source once for all gauges of a scrape.
type leaseNumbers struct{ m *Metrics }

// leaseDescs are those of leaseGauges.
var leaseDescs = func() (all []*prometheus.Desc) {
	for _, g := range leaseGauges {
		all = append(all, prometheus.NewDesc(g.Name, g.Help, g.Labels, nil))
	}
	return all
}()

// Describe implements [prometheus.Collector].
func (n *leaseNumbers) Describe(to chan<- *prometheus.Desc) {
	for _, d := range leaseDescs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (n *leaseNumbers) Collect(to chan<- prometheus.Metric) {
	source := n.m.leases.Load()
	if source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	now := (*source)(ctx)
	for i, value := range []*int{now.Active, &now.Waiting, now.Cooldowns, now.Cooling} {
		if value != nil { // absent is true, and zero would not be
			to <- prometheus.MustNewConstMetric(leaseDescs[i], prometheus.GaugeValue, float64(*value))
		}
	}
	for _, why := range offer.Reasons() {
		to <- prometheus.MustNewConstMetric(leaseDescs[len(leaseDescs)-1], prometheus.GaugeValue, float64(now.Offers[why]), string(why))
	}
}
