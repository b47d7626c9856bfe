package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// healthy is a Proxy of which probes say so, or not.
func healthy(status meta_v1.ConditionStatus, reason, message string) *egress_v1alpha1.Proxy {
	p := condition(instance(yes, egress_v1alpha1.ReasonCreated, ""), egress_v1alpha1.Healthy, status, reason, message)
	p.Spec.Attributes = map[string]egress_v1alpha1.AttributeValue{"country": "de", "kind": "datacenter"}
	p.Spec.Capacity = &egress_v1alpha1.Capacity{MaxLeases: 3, PerTarget: 1}
	return p
}

// offered is what is known of p where it is leased.
func offered(p *egress_v1alpha1.Proxy, secret *core_v1.Secret) Known {
	return Known{Proxy: p, ProviderOn: true, Offer: offer.Of(p, secret)}
}

func (k Known) with(change func(*Known)) Known {
	change(&k)
	return k
}

func probe(class, message string, inRow int) *Probe {
	return &Probe{
		URL: "https://probe.example/204?key=secret", Interval: 30 * time.Second, SuccessThreshold: 2, FailureThreshold: 3,
		Class: class, Message: message, Latency: 38 * time.Millisecond, At: now.Add(-12 * time.Second), InRow: inRow, Next: now.Add(18 * time.Second),
	}
}

func cooldowns(n int) (all []lease.Cooldown) {
	for i := range n {
		all = append(all, lease.Cooldown{Target: fmt.Sprintf("t%d.example", i), Until: now.Add(time.Duration(i+1) * time.Minute)})
	}
	return all
}

// TestLeases: what is said of probes and leases in each state that they can be in, and
// the word for it.
func TestLeases(t *testing.T) {
	good := func() *egress_v1alpha1.Proxy { return healthy(yes, egress_v1alpha1.ReasonProbeOK, "") }
	bad := func() *egress_v1alpha1.Proxy { return healthy(no, egress_v1alpha1.ReasonAuthFailed, "407") }
	patient := bad()
	patient.Spec.Lifecycle = &egress_v1alpha1.Lifecycle{ReplaceOnUnhealthyAfter: &meta_v1.Duration{Duration: 30 * time.Minute}}
	overdue := bad()
	overdue.Spec.Lifecycle = &egress_v1alpha1.Lifecycle{ReplaceOnUnhealthyAfter: &meta_v1.Duration{Duration: time.Minute}}
	locked := good()
	locked.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: "px-auth"}}
	unbounded := good()
	unbounded.Spec.Capacity, unbounded.Spec.Attributes = nil, nil
	for name, c := range map[string]struct {
		known Known
		state verdict.State
		says  []string
	}{
		"offered and idle": {offered(good(), nil).with(func(k *Known) { k.Probe = probe("ok", "", 240) }), verdict.Serving, []string{
			"probe ok ProbeOK: healthy since 1m 0s",
			"probe ok Probed: a probe asks https://probe.example/204?… through it every 30 s; the last one 12 s ago took 38 ms, 240 good ones in a row; the next one in 18 s",
			"offer ok Offered: offered to whoever asks for a lease, with country=de kind=datacenter",
			"lease ok Leased: 0 leases of 3 at most, 1 for each target",
		}},
		"without limits": {offered(unbounded, nil), verdict.Serving, []string{"offer ok Offered: offered to whoever asks for a lease, without attributes to select it by", "lease ok Leased: 0 leases, with no limit"}},
		"at capacity":    {offered(good(), nil).with(func(k *Known) { k.Use.Active = 3 }), verdict.Serving, []string{"lease ok AtCapacity: 3 leases of 3 at most, 1 for each target: full until one ends"}},
		"cools down": {offered(good(), nil).with(func(k *Known) { k.Use = lease.Use{Active: 1, Cooldowns: cooldowns(8)} }), verdict.Serving, []string{
			"lease ok Leased: 1 lease of 3 at most",
			"lease ok CoolingDown: cools down for t7.example until 08:08:00 UTC (8m 0s), t6.example until 08:07:00 UTC (7m 0s), t5.example until 08:06:00 UTC (6m 0s), t4.example until 08:05:00 UTC (5m 0s), t3.example until 08:04:00 UTC (4m 0s), and 3 other targets",
		}},
		"cools down for all": {offered(good(), nil).with(func(k *Known) {
			k.Use.Cooldowns = append(cooldowns(1), lease.Cooldown{Until: now.Add(time.Second)})
		}), verdict.Serving, []string{"lease ok CoolingDown: cools down for every target until 08:00:01 UTC (1 s), t0.example until 08:01:00 UTC (1m 0s)"}},
		"cooldowns that are over": {offered(good(), nil).with(func(k *Known) { k.Use.Cooldowns = []lease.Cooldown{{Until: now}} }), verdict.Serving, []string{"lease ok Leased: 0 leases of 3"}},
		"one probe failed": {offered(good(), nil).with(func(k *Known) { k.Probe = probe("timeout", "no answer in 5 s", 1) }), verdict.Serving, []string{
			"probe warning Probed: a probe asks https://probe.example/204?… through it every 30 s; the last one 12 s ago failed (timeout: no answer in 5 s), 1 of the 3 in a row that make it unhealthy; the next one in 18 s",
			"offer ok Offered",
		}},
		"verdicts suspended": {offered(good(), nil).with(func(k *Known) { k.Probe = probe("dial", "refused", 4); k.Probe.Suspended = now.Add(-time.Minute) }), verdict.Partial, []string{
			"probe warning Probed", "probe warning VerdictsSuspended: too many proxies fail at once since 1m 0s: none is called unhealthy meanwhile", "offer ok Offered",
		}},
		"only connects": {offered(good(), nil).with(func(k *Known) {
			k.Probe = probe("ok", "", 1)
			k.Probe.URL, k.Probe.Next, k.Probe.Latency = "", time.Time{}, 1
		}), verdict.Serving, []string{"probe ok Probed: a probe connects to it every 30 s; the last one 12 s ago took less than 1 ms, 1 good one in a row; one is under way"}},
		"not probed": {offered(instance(yes, egress_v1alpha1.ReasonCreated, ""), nil).with(func(k *Known) { k.Probe = probe("", "", 0) }), verdict.Pending, []string{
			"probe ok Probed: a probe asks https://probe.example/204?… through it every 30 s; no result yet; the next one in 18 s",
			"offer pending NotProbed: not offered: no probe has come to a verdict yet: 2 good ones in a row make it healthy, 3 bad ones unhealthy",
		}},
		"unhealthy": {offered(bad(), nil).with(func(k *Known) { k.Probe = probe("auth_failed", "407", 9); k.Use.Active = 2 }), verdict.Partial, []string{
			"probe warning AuthFailed: unhealthy since 1m 0s: 407", "probe warning Probed: a probe asks https://probe.example/204?… through it every 30 s; the last one 12 s ago failed (auth_failed: 407), 9 in a row",
			"offer warning Unhealthy: not offered: its probes fail", "lease ok Leased: 2 leases of 3",
		}},
		"to be replaced":      {offered(patient, nil), verdict.Partial, []string{"probe warning AuthFailed", "replace pending ReplacedIfUnhealthy: unless probes succeed, its instance is replaced in 29m 0s (spec.lifecycle.replaceOnUnhealthyAfter 30m 0s)"}},
		"due to be replaced":  {offered(overdue, nil), verdict.Partial, []string{"replace pending ReplacedIfUnhealthy: unless probes succeed, its instance is replaced now"}},
		"no Secret":           {offered(locked, nil), verdict.Partial, []string{"offer warning CredentialsMissing: not offered: spec.auth names Secret crawl/px-auth, which is not there: create it"}},
		"does not run":        {offered(instance(no, egress_v1alpha1.ReasonProvisioning, "does not run yet"), nil), verdict.Pending, []string{"offer pending NotRunning: not offered: its instance does not run"}},
		"drains":              {offered(condition(good(), egress_v1alpha1.Draining, yes, egress_v1alpha1.ReasonReplacing, "too old"), nil).with(func(k *Known) { k.Use.Active = 2 }), verdict.Pending, []string{"offer pending Draining: not offered: its instance is about to be replaced", "lease ok Leased: 2 leases"}},
		"goes":                {offered(deleted(good()), nil).with(func(k *Known) { k.Use.Active = 1 }), verdict.Pending, []string{"delete pending Deleting", "offer pending Deleting: not offered: it is being deleted", "lease ok Leased: 1 lease"}},
		"the store is away":   {offered(good(), nil).with(func(k *Known) { k.UseErr = "redis at 127.0.0.1:6379: connection refused" }), verdict.Partial, []string{"offer ok Offered", "lease warning LeasesUnknown: how it is leased is not known: redis at 127.0.0.1:6379: connection refused"}},
		"a reason of another": {offered(good(), nil).with(func(k *Known) { k.Offer = &offer.Offer{Why: "Tired", Message: "it sleeps"} }), verdict.Partial, []string{"offer warning NotOffered: not offered: it sleeps"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := Verdict(c.known, now)
			if v.State != c.state {
				t.Errorf("state %s, want %s", v.State, c.state)
			}
			var lines []string
			for _, s := range v.Steps {
				lines = append(lines, fmt.Sprintf("%s %s %s: %s", s.Stage, s.Outcome, s.Reason, s.Message))
				if _, known := verdict.ReasonNamed(s.Reason); !known {
					t.Errorf("reason %s is not in the reference", s.Reason)
				}
				if strings.Contains(s.Message, "secret") {
					t.Errorf("the key of the URL is told: %s", s.Message)
				}
			}
			if missing := inOrder(lines, c.says); missing != "" {
				t.Errorf("no %q in order in\n%s", missing, strings.Join(lines, "\n"))
			}
		})
	}
}

// TestEveryReasonNotToOfferIsSaid: with a word of its own.
func TestEveryReasonNotToOfferIsSaid(t *testing.T) {
	said := map[string]bool{}
	for _, why := range offer.Reasons()[1:] {
		s := Known{Offer: &offer.Offer{Why: why, Message: "because"}}.offered()
		if s.Outcome == verdict.OK || s.Reason == verdict.NotOffered.Name || said[s.Reason] {
			t.Errorf("%s is said as %+v", why, s)
		}
		said[s.Reason] = true
	}
}

// TestNumbers: the list names few cooldowns and how many there are, the answer to why
// names all.
func TestNumbers(t *testing.T) {
	k := offered(healthy(yes, egress_v1alpha1.ReasonProbeOK, ""), nil).with(func(k *Known) {
		k.Probe, k.Use = probe("ok", "", 4), lease.Use{Active: 2, Cooldowns: cooldowns(8)}
	})
	row := Summary(Fleet{Proxies: []Known{k}}, Leasing{Store: "memory"}, now).Items[0]
	if row.Healthy == nil || !*row.Healthy || row.LatencyMillis != 38 || row.Leases.Active != 2 || row.Leases.Cooling != 8 || len(row.Leases.Cooldowns) != fewTargets || row.Offer.Why != offer.Offered {
		t.Errorf("%+v %+v", row, row.Leases)
	}
	all := Why(k, now)
	names := func(c CooldownNow) string { return c.Target }
	if len(all.Leases.Cooldowns) != 8 || names(all.Leases.Cooldowns[0]) != "t7.example" || all.Probe.InRow != 4 || !slices.Equal([]int{all.Leases.Capacity, all.Leases.PerTarget}, []int{3, 1}) {
		t.Errorf("%+v %+v", all.Leases, all.Probe)
	}
	unknown := Why(k.with(func(k *Known) { k.UseErr = "away" }), now)
	if unknown.Leases != nil {
		t.Errorf("there are numbers of a store that was not reached: %+v", unknown.Leases)
	}
}
