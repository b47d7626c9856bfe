package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

var now = time.Unix(1_800_000_000, 0)

// instance is a Proxy whose instance was made three minutes ago, with a condition
// Provisioned.
func instance(status meta_v1.ConditionStatus, reason, message string) *egress_v1alpha1.Proxy {
	p := wanted(status, reason, message)
	p.Status.Provider, p.Status.ProviderID, p.Status.IP = "gcp", "zones/a/instances/px-1", "10.0.0.1"
	p.Status.InstanceCreatedAt = new(meta_v1.NewTime(now.Add(-3 * time.Minute)))
	return p
}

// wanted is a Proxy without an instance.
func wanted(status meta_v1.ConditionStatus, reason, message string) *egress_v1alpha1.Proxy {
	p := &egress_v1alpha1.Proxy{Spec: egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.Managed, Provider: "gcp", Zone: "a"}}
	p.Name, p.Namespace, p.Generation, p.Status.ObservedGeneration = "fra-1", "crawl", 2, 2
	if reason != "" {
		condition(p, egress_v1alpha1.Provisioned, status, reason, message)
	}
	return p
}

func condition(p *egress_v1alpha1.Proxy, kind string, status meta_v1.ConditionStatus, reason, message string) *egress_v1alpha1.Proxy {
	p.Status.Conditions = append(p.Status.Conditions, meta_v1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: meta_v1.NewTime(now.Add(-time.Minute)),
	})
	return p
}

func deleted(p *egress_v1alpha1.Proxy) *egress_v1alpha1.Proxy {
	p.DeletionTimestamp = new(meta_v1.NewTime(now.Add(-time.Minute)))
	return p
}

func lastError(p *egress_v1alpha1.Proxy, text string) *egress_v1alpha1.Proxy {
	p.Status.LastError = &egress_v1alpha1.LastError{Class: "Transient", Message: text}
	return p
}

const (
	yes = meta_v1.ConditionTrue
	no  = meta_v1.ConditionFalse
)

// TestVerdict: what is said of each state that a Proxy can be in, and the word for it.
func TestVerdict(t *testing.T) {
	runs := instance(yes, egress_v1alpha1.ReasonCreated, "its instance runs")
	external := &egress_v1alpha1.Proxy{Spec: egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.External, Endpoint: &egress_v1alpha1.Endpoint{Host: "2001:db8::1", Port: 8080}}}
	condition(external, egress_v1alpha1.Provisioned, yes, egress_v1alpha1.ReasonExternalEndpoint, "")
	stale := instance(yes, egress_v1alpha1.ReasonCreated, "")
	stale.Status.ObservedGeneration = 1
	for name, c := range map[string]struct {
		known Known
		state verdict.State
		says  []string // "stage outcome Reason: message", in order, as far as they matter
	}{
		"refused from the start": {Known{Origin: "a.yaml:1", Refusals: []verdict.Step{{Stage: verdict.Accept, Outcome: verdict.WasRejected, Reason: "InvalidValue", Message: "no"}}}, verdict.Rejected, []string{
			"watch ok Seen: seen in a.yaml:1", "accept rejected InvalidValue: no",
		}},
		"new":              {Known{Proxy: wanted(no, "", "")}, verdict.Pending, []string{"watch ok Seen: seen at the API server", "accept ok Accepted: generation 2 is wanted: managed, gcp, a", "create pending NothingAsked"}},
		"quota":            {Known{Proxy: wanted(no, egress_v1alpha1.ReasonQuotaExceeded, "5 of 5")}, verdict.Pending, []string{"create warning QuotaExceeded: 5 of 5"}},
		"refused":          {Known{Proxy: wanted(no, egress_v1alpha1.ReasonPermanentError, "no such image")}, verdict.Rejected, []string{"create rejected PermanentError: no such image"}},
		"no Secret":        {Known{Proxy: wanted(no, egress_v1alpha1.ReasonCloudInitError, "Secret crawl/x")}, verdict.Rejected, []string{"create rejected CloudInitError: Secret crawl/x"}},
		"fails":            {Known{Proxy: lastError(wanted(no, egress_v1alpha1.ReasonTransientError, "cannot create; tried again with growing pauses, see lastError"), "503")}, verdict.Pending, []string{"create pending TransientError: cannot create; tried again with growing pauses: 503"}},
		"provider off":     {Known{Proxy: wanted(no, egress_v1alpha1.ReasonPermanentError, "off"), ProviderOn: false}, verdict.Rejected, []string{"create rejected ProviderOff"}},
		"provisioning":     {Known{Proxy: instance(no, egress_v1alpha1.ReasonProvisioning, "does not run yet"), Next: now.Add(4 * time.Second)}, verdict.Pending, []string{"create ok Provisioning: gcp made zones/a/instances/px-1 3m 0s ago", "run pending Provisioning: does not run yet; unless it does in 12m 0s, it is made anew", "wait ok LooksAgain: looked at again in 4 s"}},
		"timeout":          {Known{Proxy: instance(no, egress_v1alpha1.ReasonProvisioningTimeout, "too long")}, verdict.Pending, []string{"run pending ProvisioningTimeout: too long"}},
		"runs":             {Known{Proxy: runs}, verdict.Serving, []string{"run ok Created: runs at http://10.0.0.1:3128 since 1m 0s", "replace ok MadeAsWanted: made as generation 2 wants it"}},
		"ready":            {Known{Proxy: condition(instance(yes, egress_v1alpha1.ReasonCreated, ""), egress_v1alpha1.Healthy, yes, egress_v1alpha1.ReasonProbeOK, "38 ms")}, verdict.Serving, []string{"probe ok ProbeOK: healthy since 1m 0s: 38 ms"}},
		"unhealthy":        {Known{Proxy: condition(instance(yes, egress_v1alpha1.ReasonCreated, ""), egress_v1alpha1.Healthy, no, egress_v1alpha1.ReasonAuthFailed, "407")}, verdict.Partial, []string{"probe warning AuthFailed: unhealthy since 1m 0s: 407"}},
		"a new generation": {Known{Proxy: stale}, verdict.Partial, []string{"replace pending Undecided"}},
		"waits for others": {Known{Proxy: instance(yes, egress_v1alpha1.ReasonWaitingForBudget, "enough")}, verdict.Partial, []string{"replace pending WaitingForBudget: enough"}},
		"waits for leases": {Known{Proxy: condition(instance(yes, egress_v1alpha1.ReasonCreated, ""), egress_v1alpha1.Draining, yes, egress_v1alpha1.ReasonReplacing, "3 leases")}, verdict.Pending, []string{"replace pending Draining: 3 leases"}},
		"replaced":         {Known{Proxy: instance(no, egress_v1alpha1.ReasonReplacing, "goes")}, verdict.Pending, []string{"replace pending Replacing: goes"}},
		"Secret gone":      {Known{Proxy: instance(yes, egress_v1alpha1.ReasonCloudInitError, "Secret crawl/x")}, verdict.Partial, []string{"replace warning CloudInitError: whether it is as wanted is not known: Secret crawl/x"}},
		"a refused change": {Known{Proxy: runs, Refusals: []verdict.Step{{Stage: verdict.Accept, Outcome: verdict.WasRejected, Reason: "ImmutableField"}}}, verdict.Partial, []string{"accept rejected ImmutableField", "run ok Created"}},
		"held":             {Known{Proxy: runs, Missing: "kept", Held: true}, verdict.Partial, []string{"watch warning DeletionHeld: kept"}},
		"about to go":      {Known{Proxy: runs, Missing: "in a moment"}, verdict.Partial, []string{"watch pending Deleting: in a moment"}},
		"going":            {Known{Proxy: deleted(instance(no, egress_v1alpha1.ReasonDeleting, "its instance is being deleted"))}, verdict.Pending, []string{"delete pending Deleting: its instance is being deleted"}},
		"going, drains":    {Known{Proxy: deleted(condition(instance(yes, egress_v1alpha1.ReasonCreated, ""), egress_v1alpha1.Draining, yes, egress_v1alpha1.ReasonDeleting, "1 lease"))}, verdict.Pending, []string{"delete pending Draining: 1 lease"}},
		"cannot go":        {Known{Proxy: deleted(condition(instance(no, egress_v1alpha1.ReasonDeleting, ""), egress_v1alpha1.DeletionBlocked, yes, "Forbidden", "403"))}, verdict.Rejected, []string{"delete rejected DeletionBlocked: blocked since 1m 0s: 403"}},
		"a step fails":     {Known{Proxy: runs, Failures: 3, Error: "no route"}, verdict.Partial, []string{"wait warning TransientError: the last step failed, 3 in a row: no route; tried again after a pause that grows"}},
		"a step failed":    {Known{Proxy: runs, Next: now.Add(8 * time.Second), Failures: 3, Error: "disk full"}, verdict.Partial, []string{"wait warning TransientError: the last step failed, 3 in a row: disk full; tried again in 8 s"}},
		"external":         {Known{Proxy: external}, verdict.Serving, []string{"create ok ExternalEndpoint: somebody else runs it at [2001:db8::1]:8080"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.known.ProviderOn = name != "provider off"
			v := Verdict(c.known, now)
			if v.State != c.state {
				t.Errorf("state %s, want %s", v.State, c.state)
			}
			var lines []string
			for _, s := range v.Steps {
				lines = append(lines, fmt.Sprintf("%s %s %s: %s", s.Stage, s.Outcome, s.Reason, s.Message))
				if _, known := verdict.ReasonNamed(s.Reason); !known && s.Stage != verdict.Accept {
					t.Errorf("reason %s is not in the reference", s.Reason)
				}
			}
			if missing := inOrder(lines, c.says); missing != "" {
				t.Errorf("no %q in order in\n%s", missing, strings.Join(lines, "\n"))
			}
		})
	}
}

// inOrder returns the first of want that no line begins with, after those before it.
func inOrder(lines, want []string) string {
	for _, w := range want {
		for len(lines) > 0 && !strings.HasPrefix(lines[0], w) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			return w
		}
	}
	return ""
}

func TestSummaryNamesTheWorst(t *testing.T) {
	l := Summary(Fleet{Source: "directory /x", Proxies: []Known{{Namespace: "crawl", Name: "fra-1", ProviderOn: true, Proxy: wanted(no, egress_v1alpha1.ReasonPermanentError, "no such image")}}}, Leasing{}, now)
	if len(l.Items) != 1 || l.Items[0].Reason != "PermanentError" || l.Items[0].Why != "no such image" || l.Problems == nil {
		t.Errorf("%+v", l)
	}
}
