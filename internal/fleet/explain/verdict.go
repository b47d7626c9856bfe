package explain

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Verdict says what became of a Proxy: wanted, accepted, created, running, as wanted
// or to be replaced, healthy, being deleted, and what it waits for.
func Verdict(k Known, now time.Time) verdict.Verdict {
	v := verdict.Verdict{
		Object:    verdict.Object{Group: egress_v1alpha1.Group, Kind: "Proxy", Namespace: k.Namespace, Name: k.Name},
		Resources: []verdict.Resource{}, Proxies: verdict.Proxies{Refused: []verdict.Refusal{}},
	}
	if k.Proxy != nil {
		v.Object.Generation = k.Proxy.Generation
		if id := k.Proxy.Status.ProviderID; id != "" {
			v.Resources = append(v.Resources, verdict.Resource{Type: "Instance", Name: id})
		}
	}
	v.Steps = k.steps(now)
	v.State = k.state(v.Steps)
	return v
}

func (k Known) steps(now time.Time) []verdict.Step {
	steps := append(k.watched(), k.Refusals...)
	if k.Proxy == nil {
		return steps
	}
	steps = append(steps, k.accepted())
	if k.Proxy.Spec.Mode == egress_v1alpha1.External {
		steps = append(steps, verdict.ExternalEndpoint.Step(verdict.Create, verdict.OK, "somebody else runs it at "+Address(k.Proxy)))
		return slices.Concat(steps, k.healthy(now), k.leased(now))
	}
	if k.Proxy.DeletionTimestamp != nil {
		return slices.Concat(steps, k.deleting(now), k.leased(now), k.waits(now))
	}
	steps = append(steps, k.created(now))
	return slices.Concat(steps, k.running(now), k.replaced(), k.healthy(now), k.leased(now), k.waits(now))
}

// state is the worst that matters: whether clients can use it, and whether all of it
// is as wanted.
func (k Known) state(steps []verdict.Step) verdict.State {
	serves := k.Proxy != nil && lifecycle.Serves(k.Proxy) && (k.Offer == nil || k.Offer.Why != offer.NotProbed)
	worst := verdict.OK
	for _, s := range steps {
		if s.Reason == verdict.Probed.Name {
			continue // the verdict counts, not each probe
		}
		switch s.Outcome {
		case verdict.WasRejected, verdict.WasExcluded:
			worst = verdict.WasRejected
		case verdict.Warning, verdict.StillPending:
			if worst == verdict.OK {
				worst = s.Outcome
			}
		case verdict.OK:
		}
	}
	switch {
	case serves && worst == verdict.OK:
		return verdict.Serving
	case serves:
		return verdict.Partial
	case worst == verdict.WasRejected:
		return verdict.Rejected
	}
	return verdict.Pending
}

func (k Known) watched() []verdict.Step {
	switch {
	case k.Missing != "" && k.Held:
		return []verdict.Step{verdict.DeletionHeld.Step(verdict.Watch, verdict.Warning, k.Missing)}
	case k.Missing != "":
		return []verdict.Step{verdict.Deleting.Step(verdict.Watch, verdict.StillPending, k.Missing)}
	case k.Origin != "":
		return []verdict.Step{verdict.Seen.Step(verdict.Watch, verdict.OK, "seen in "+k.Origin)}
	case k.Proxy == nil:
		return nil
	}
	return []verdict.Step{verdict.Seen.Step(verdict.Watch, verdict.OK, "seen at the API server")}
}

func (k Known) accepted() verdict.Step {
	s := k.Proxy.Spec
	wanted := []string{strings.ToLower(string(s.Mode))}
	for _, part := range []string{s.Provider, s.Zone, s.MachineType, s.Image} {
		if part != "" {
			wanted = append(wanted, part)
		}
	}
	if s.Spot {
		wanted = append(wanted, "spot")
	}
	return verdict.Accepted.Step(verdict.Accept, verdict.OK, fmt.Sprintf("generation %d is wanted: %s", k.Proxy.Generation, strings.Join(wanted, ", ")))
}

// Address is where clients connect, HOST:PORT; empty while that is not known.
func Address(p *egress_v1alpha1.Proxy) string {
	host, port := p.Status.IP, int32(egress_v1alpha1.DefaultPort)
	if e := p.Spec.Endpoint; e != nil {
		if e.Port != 0 {
			port = e.Port
		}
		if p.Spec.Mode == egress_v1alpha1.External {
			host = e.Host
		}
	}
	if host == "" {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func scheme(p *egress_v1alpha1.Proxy) string {
	if e := p.Spec.Endpoint; e != nil && e.Scheme != "" {
		return string(e.Scheme)
	}
	return string(egress_v1alpha1.HTTP)
}

// created says what the provider was asked for, and what it said.
func (k Known) created(now time.Time) verdict.Step {
	p := k.Proxy
	c := lifecycle.Condition(p, egress_v1alpha1.Provisioned)
	switch {
	case p.Status.ProviderID != "":
		return verdict.Provisioning.Step(verdict.Create, verdict.OK, made(p, now))
	case !k.ProviderOn:
		return verdict.ProviderOff.Step(verdict.Create, verdict.WasRejected, fmt.Sprintf("provider %q is not turned on here", p.Spec.Provider)).At("spec.provider")
	case c == nil:
		return verdict.NothingAsked.Step(verdict.Create, verdict.StillPending, "the provider has not been asked yet")
	}
	return k.because(c, verdict.Create)
}

func made(p *egress_v1alpha1.Proxy, now time.Time) string {
	text := fmt.Sprintf("%s made %s", p.Status.Provider, p.Status.ProviderID)
	if at := p.Status.InstanceCreatedAt; at != nil {
		text += fmt.Sprintf(" %s ago", span(now.Sub(at.Time)))
	}
	if n := p.Status.Attempts; n > 1 {
		text += fmt.Sprintf(", at attempt %d", n)
	}
	return text
}

// outcomes of the reasons of the condition Provisioned, where it is false.
var outcomes = map[string]verdict.Outcome{
	egress_v1alpha1.ReasonCloudInitError: verdict.WasRejected,
	egress_v1alpha1.ReasonPermanentError: verdict.WasRejected,
	egress_v1alpha1.ReasonQuotaExceeded:  verdict.Warning,
}

// because is a step from a condition. What a provider said last is added where the
// condition only refers to it.
func (k Known) because(c *meta_v1.Condition, stage verdict.Stage) verdict.Step {
	reason, known := verdict.ReasonNamed(c.Reason)
	if !known {
		reason = verdict.TransientError
	}
	outcome, listed := outcomes[c.Reason]
	if !listed {
		outcome = verdict.StillPending
	}
	message := c.Message
	if last := k.Proxy.Status.LastError; last != nil && !strings.Contains(message, last.Message) {
		message = strings.TrimSuffix(message, ", see lastError") + ": " + last.Message
	}
	return reason.Step(stage, outcome, message)
}

// running says whether clients can connect. It has nothing to say before there is an
// instance.
func (k Known) running(now time.Time) []verdict.Step {
	p := k.Proxy
	c := lifecycle.Condition(p, egress_v1alpha1.Provisioned)
	switch {
	case c == nil || p.Status.ProviderID == "":
		return nil
	case c.Status == meta_v1.ConditionTrue:
		return []verdict.Step{verdict.Created.Step(verdict.Run, verdict.OK,
			fmt.Sprintf("runs at %s://%s since %s", scheme(p), Address(p), span(now.Sub(c.LastTransitionTime.Time))))}
	case c.Reason == egress_v1alpha1.ReasonReplacing:
		return nil // said by replaced
	}
	step := k.because(c, verdict.Run)
	if left, bounded := timeLeft(p, now); bounded && c.Reason == egress_v1alpha1.ReasonProvisioning {
		step.Message += fmt.Sprintf("; unless it does in %s, it is made anew", span(left))
	}
	return []verdict.Step{step}
}

// timeLeft is how long an instance may still take to run.
func timeLeft(p *egress_v1alpha1.Proxy, now time.Time) (time.Duration, bool) {
	limit := lifecycle.DefaultProvisioningTimeout
	if l := p.Spec.Lifecycle; l != nil && l.ProvisioningTimeout != nil {
		limit = l.ProvisioningTimeout.Duration
	}
	if p.Status.InstanceCreatedAt == nil {
		return 0, false
	}
	left := limit - now.Sub(p.Status.InstanceCreatedAt.Time)
	return left, left > 0
}

// replaced says whether the instance is as wanted.
func (k Known) replaced() []verdict.Step {
	p := k.Proxy
	c := lifecycle.Condition(p, egress_v1alpha1.Provisioned)
	drain := lifecycle.Condition(p, egress_v1alpha1.Draining)
	switch {
	case c == nil:
		return nil
	case c.Reason == egress_v1alpha1.ReasonReplacing:
		return []verdict.Step{verdict.Replacing.Step(verdict.Replace, verdict.StillPending, c.Message)}
	case c.Status != meta_v1.ConditionTrue:
		return nil
	case drain != nil && drain.Status == meta_v1.ConditionTrue:
		return []verdict.Step{verdict.Draining.Step(verdict.Replace, verdict.StillPending, drain.Message)}
	case c.Reason == egress_v1alpha1.ReasonWaitingForBudget:
		return []verdict.Step{verdict.WaitingForBudget.Step(verdict.Replace, verdict.StillPending, c.Message)}
	case c.Reason == egress_v1alpha1.ReasonCloudInitError:
		return []verdict.Step{verdict.CloudInitError.Step(verdict.Replace, verdict.Warning, "whether it is as wanted is not known: "+c.Message)}
	case p.Status.ObservedGeneration < p.Generation:
		return []verdict.Step{verdict.Undecided.Step(verdict.Replace, verdict.StillPending, fmt.Sprintf("generation %d has not been looked at yet", p.Generation))}
	}
	return []verdict.Step{verdict.MadeAsWanted.Step(verdict.Replace, verdict.OK, fmt.Sprintf("made as generation %d wants it", p.Generation))}
}

// deleting says what keeps a Proxy that is to go.
func (k Known) deleting(now time.Time) []verdict.Step {
	p := k.Proxy
	steps := []verdict.Step{}
	if p.Status.ProviderID != "" {
		steps = append(steps, verdict.Provisioning.Step(verdict.Create, verdict.OK, made(p, now)))
	}
	if c := lifecycle.Condition(p, egress_v1alpha1.DeletionBlocked); c != nil && c.Status == meta_v1.ConditionTrue {
		return append(steps, verdict.DeletionBlocked.Step(verdict.Delete, verdict.WasRejected, fmt.Sprintf("blocked since %s: %s", span(now.Sub(c.LastTransitionTime.Time)), c.Message)))
	}
	message := "is being deleted"
	if c := lifecycle.Condition(p, egress_v1alpha1.Draining); c != nil && c.Status == meta_v1.ConditionTrue {
		return append(steps, verdict.Draining.Step(verdict.Delete, verdict.StillPending, c.Message))
	}
	if c := lifecycle.Condition(p, egress_v1alpha1.Provisioned); c != nil && c.Reason == egress_v1alpha1.ReasonDeleting {
		return append(steps, k.because(c, verdict.Delete))
	}
	return append(steps, verdict.Deleting.Step(verdict.Delete, verdict.StillPending, message))
}

// waits says when it is looked at again.
func (k Known) waits(now time.Time) []verdict.Step {
	in := "in " + span(max(0, k.Next.Sub(now)))
	switch {
	case k.Failures > 0:
		if k.Next.IsZero() { // a queue decides, which does not say
			in = "after a pause that grows"
		}
		text := fmt.Sprintf("the last step failed, %d in a row: %s; tried again %s", k.Failures, k.Error, in)
		return []verdict.Step{verdict.TransientError.Step(verdict.Wait, verdict.Warning, text)}
	case !k.Next.IsZero():
		return []verdict.Step{verdict.LooksAgain.Step(verdict.Wait, verdict.OK, "looked at again "+in)}
	}
	return nil
}

// span writes a time in whole units: 42 s, 3m 5s, 2h 10m, 5d 3h.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}
