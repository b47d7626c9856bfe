package explain

import (
	"fmt"
	"strings"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// healthy says what the verdict of probes is, if there is one, how it comes about, and
// what follows from a bad one that lasts.
func (k Known) healthy(now time.Time) []verdict.Step {
	var steps []verdict.Step
	c := lifecycle.Condition(k.Proxy, egress_v1alpha1.Healthy)
	if c != nil {
		steps = append(steps, judged(c, now))
	}
	if k.Probe != nil {
		steps = append(steps, k.Probe.step(now))
		if s := k.Probe.Suspended; !s.IsZero() && k.Probe.failing() {
			steps = append(steps, verdict.VerdictsSuspended.Step(verdict.Probe, verdict.Warning,
				fmt.Sprintf("too many proxies fail at once since %s: none is called unhealthy meanwhile", span(now.Sub(s)))))
		}
	}
	if c != nil && c.Status == meta_v1.ConditionFalse {
		steps = append(steps, k.replacedIfUnhealthy(c, now)...)
	}
	return steps
}

// judged is the verdict that the status has.
func judged(c *meta_v1.Condition, now time.Time) verdict.Step {
	reason, known := verdict.ReasonNamed(c.Reason)
	if !known {
		reason = verdict.ProbeFailed
	}
	if c.Status == meta_v1.ConditionTrue {
		return reason.Step(verdict.Probe, verdict.OK, "healthy since "+span(now.Sub(c.LastTransitionTime.Time))+also(c.Message))
	}
	return reason.Step(verdict.Probe, verdict.Warning, "unhealthy since "+span(now.Sub(c.LastTransitionTime.Time))+also(c.Message))
}

func also(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// step says how it is probed, and what the last probe found. A failure that has not
// turned the verdict is worth a look, and takes nothing from anybody.
func (p *Probe) step(now time.Time) verdict.Step {
	text := []string{p.how()}
	outcome := verdict.OK
	switch {
	case p.Class == "":
		text = append(text, "no result yet")
	case p.ok():
		text = append(text, fmt.Sprintf("the last one %s ago took %s, %s in a row", span(now.Sub(p.At)), millis(p.Latency), count(p.InRow, "good one")))
	default:
		outcome = verdict.Warning
		text = append(text, fmt.Sprintf("the last one %s ago failed (%s%s), %s", span(now.Sub(p.At)), p.Class, also(p.Message), p.row()))
	}
	if !p.Next.IsZero() {
		text = append(text, "the next one in "+span(max(0, p.Next.Sub(now))))
	} else {
		text = append(text, "one is under way")
	}
	return verdict.Probed.Step(verdict.Probe, outcome, strings.Join(text, "; "))
}

// millis writes how long a probe took.
func millis(d time.Duration) string {
	if d < time.Millisecond {
		return "less than 1 ms"
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

func (p *Probe) how() string {
	what := "connects to it"
	if p.URL != "" {
		what = "asks " + withoutQuery(p.URL) + " through it"
	}
	return fmt.Sprintf("a probe %s every %s", what, span(p.Interval))
}

// withoutQuery keeps keys that are in a URL out of what is shown.
func withoutQuery(url string) string {
	if before, _, cut := strings.Cut(url, "?"); cut {
		return before + "?…"
	}
	return url
}

// row says how many failures in a row there are, of those that make it unhealthy.
func (p *Probe) row() string {
	if p.InRow < p.FailureThreshold {
		return fmt.Sprintf("%d of the %d in a row that make it unhealthy", p.InRow, p.FailureThreshold)
	}
	return fmt.Sprintf("%d in a row", p.InRow)
}

// replacedIfUnhealthy says how long a bad verdict may last.
func (k Known) replacedIfUnhealthy(c *meta_v1.Condition, now time.Time) []verdict.Step {
	l := k.Proxy.Spec.Lifecycle
	if l == nil || l.ReplaceOnUnhealthyAfter == nil || l.ReplaceOnUnhealthyAfter.Duration <= 0 || lifecycle.Is(k.Proxy, egress_v1alpha1.Draining) {
		return nil
	}
	when := "now"
	if left := c.LastTransitionTime.Add(l.ReplaceOnUnhealthyAfter.Duration).Sub(now); left > 0 {
		when = "in " + span(left)
	}
	return []verdict.Step{verdict.ReplacedIfUnhealthy.Step(verdict.Replace, verdict.StillPending,
		fmt.Sprintf("unless probes succeed, its instance is replaced %s (spec.lifecycle.replaceOnUnhealthyAfter %s)", when, span(l.ReplaceOnUnhealthyAfter.Duration)))}
}
