package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// leased says whether it is offered to those who ask for a lease, by how many it is
// leased, and what for it rests. It has nothing to say where nothing is leased.
func (k Known) leased(now time.Time) []verdict.Step {
	if k.Offer == nil {
		return nil
	}
	steps := []verdict.Step{k.offered()}
	if k.UseErr != "" {
		return append(steps, verdict.LeasesUnknown.Step(verdict.Lease, verdict.Warning, "how it is leased is not known: "+k.UseErr))
	}
	steps = append(steps, k.carries())
	return append(steps, k.rests(now)...)
}

// notOffered are the reasons for it, and how bad each is: what passes by itself waits.
var notOffered = map[offer.Why]struct {
	reason  verdict.Reason
	outcome verdict.Outcome
}{
	offer.Deleting:           {verdict.Deleting, verdict.StillPending},
	offer.NotRunning:         {verdict.NotRunning, verdict.StillPending},
	offer.Draining:           {verdict.Draining, verdict.StillPending},
	offer.CredentialsMissing: {verdict.CredentialsMissing, verdict.Warning},
	offer.NotProbed:          {verdict.NotProbed, verdict.StillPending},
	offer.Unhealthy:          {verdict.Unhealthy, verdict.Warning},
}

func (k Known) offered() verdict.Step {
	o := k.Offer
	if o.Why == offer.Offered {
		return verdict.Offered.Step(verdict.Offer, verdict.OK, "offered to whoever asks for a lease"+attributes(o.Lease.Attributes))
	}
	at, known := notOffered[o.Why]
	if !known {
		at.reason, at.outcome = verdict.NotOffered, verdict.Warning
	}
	message := o.Message
	if o.Why == offer.Unhealthy {
		message = "its probes fail" // how, is said before
	}
	if p := k.Probe; o.Why == offer.NotProbed && p != nil && p.SuccessThreshold > 0 {
		message += fmt.Sprintf(": %d good ones in a row make it healthy, %d bad ones unhealthy", p.SuccessThreshold, p.FailureThreshold)
	}
	return at.reason.Step(verdict.Offer, at.outcome, "not offered: "+message)
}

// attributes are what leases select by.
func attributes(all map[string]string) string {
	if len(all) == 0 {
		return ", without attributes to select it by"
	}
	var pairs []string
	for k, v := range all {
		pairs = append(pairs, k+"="+v)
	}
	slices.Sort(pairs)
	return ", with " + strings.Join(pairs, " ")
}

// carries says by how many it is leased, of how many it may be.
func (k Known) carries() verdict.Step {
	l := k.Offer.Lease
	text := count(k.Use.Active, "lease")
	switch {
	case l.Capacity > 0:
		text += fmt.Sprintf(" of %d at most", l.Capacity)
	case l.PerTarget == 0:
		text += ", with no limit"
	}
	if l.PerTarget > 0 {
		text += fmt.Sprintf(", %d for each target", l.PerTarget)
	}
	if l.Capacity > 0 && k.Use.Active >= l.Capacity {
		return verdict.AtCapacity.Step(verdict.Lease, verdict.OK, text+": full until one ends")
	}
	return verdict.Leased.Step(verdict.Lease, verdict.OK, text)
}

// fewTargets is how many targets are named; all are in the JSON form.
const fewTargets = 5

// rests says for which targets it cools down, those that last longest first.
func (k Known) rests(now time.Time) []verdict.Step {
	all := cooling(k.Use.Cooldowns, now)
	if len(all) == 0 {
		return nil
	}
	var parts []string
	for _, c := range all[:min(len(all), fewTargets)] {
		parts = append(parts, fmt.Sprintf("%s until %s (%s)", targetName(c.Target), c.Until.UTC().Format("15:04:05 UTC"), span(c.Until.Sub(now))))
	}
	if more := len(all) - fewTargets; more > 0 {
		parts = append(parts, "and "+count(more, "other target"))
	}
	return []verdict.Step{verdict.CoolingDown.Step(verdict.Lease, verdict.OK, "cools down for "+strings.Join(parts, ", "))}
}

// cooling are the cooldowns that are not over: that of every target first, then those
// that last longest.
func cooling(all []lease.Cooldown, now time.Time) []lease.Cooldown {
	out := slices.DeleteFunc(slices.Clone(all), func(c lease.Cooldown) bool { return !c.Until.After(now) })
	slices.SortFunc(out, func(a, b lease.Cooldown) int {
		switch {
		case a.Target == b.Target:
			return 0
		case a.Target == "":
			return -1
		case b.Target == "":
			return +1
		}
		return cmp.Or(b.Until.Compare(a.Until), cmp.Compare(a.Target, b.Target))
	})
	return out
}

func targetName(target string) string { return cmp.Or(target, "every target") }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
