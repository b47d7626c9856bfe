package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// tally is a metric that is counted from all Proxies at each scrape.
type tally struct {
	list List
	desc *prometheus.Desc
	// always are label values that have a series also when there is none of them.
	always []string
	// of returns the label value under which a Proxy counts, false for none.
	of func(p *egress_v1alpha1.Proxy) (string, bool)
	// labelled is false for a metric without labels.
	labelled bool
}

func (m *Metrics) tally(list List, doc observe.Metric, always []string, of func(*egress_v1alpha1.Proxy) (string, bool)) {
	m.catalog.Add(doc, "gauge", tally{
		list: list, always: always, of: of, labelled: len(doc.Labels) > 0,
		desc: prometheus.NewDesc(doc.Name, doc.Help, doc.Labels, nil),
	})
}

// Describe implements [prometheus.Collector].
func (t tally) Describe(to chan<- *prometheus.Desc) { to <- t.desc }

// scrapeTime bounds the reading of all Proxies, which is from a cache most often.
const scrapeTime = 5 * time.Second

// Collect implements [prometheus.Collector].
func (t tally) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	proxies, err := t.list(ctx)
	if err != nil {
		return // absent is true, and zero would not be
	}
	for value, n := range t.count(proxies) {
		var labels []string
		if t.labelled {
			labels = []string{value}
		}
		to <- prometheus.MustNewConstMetric(t.desc, prometheus.GaugeValue, float64(n), labels...)
	}
}

func (t tally) count(proxies []*egress_v1alpha1.Proxy) map[string]int {
	counts := make(map[string]int)
	for _, value := range t.always {
		counts[value] = 0
	}
	if !t.labelled {
		counts[""] = 0
	}
	for _, p := range proxies {
		if value, counted := t.of(p); counted {
			counts[value]++
		}
	}
	return counts
}

func phases() []string {
	return []string{
		string(egress_v1alpha1.PhasePending), string(egress_v1alpha1.PhaseProvisioning), string(egress_v1alpha1.PhaseProvisioned),
		string(egress_v1alpha1.PhaseReady), string(egress_v1alpha1.PhaseUnhealthy), string(egress_v1alpha1.PhaseReplacing),
		string(egress_v1alpha1.PhaseDeleting), string(egress_v1alpha1.PhaseFailed),
	}
}

// phase counts a Proxy that was not looked at yet as Pending.
func phase(p *egress_v1alpha1.Proxy) (string, bool) {
	if p.Status.Phase == "" {
		return string(egress_v1alpha1.PhasePending), true
	}
	return string(p.Status.Phase), true
}

// waits returns what a Proxy waits for before its instance goes.
func waits(p *egress_v1alpha1.Proxy) (string, bool) {
	if meta.IsStatusConditionTrue(p.Status.Conditions, egress_v1alpha1.Draining) {
		return egress_v1alpha1.Draining, true
	}
	c := meta.FindStatusCondition(p.Status.Conditions, egress_v1alpha1.Provisioned)
	return egress_v1alpha1.ReasonWaitingForBudget, c != nil && c.Reason == egress_v1alpha1.ReasonWaitingForBudget
}

func blocked(p *egress_v1alpha1.Proxy) (string, bool) {
	return "", meta.IsStatusConditionTrue(p.Status.Conditions, egress_v1alpha1.DeletionBlocked)
}
