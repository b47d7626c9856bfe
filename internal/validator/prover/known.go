package prover

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/validator"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

const (
	// maxKnown bounds how many refused contents are remembered, and maxAge for how
	// long: what is wrong with one may be outside of it, such as a file.
	maxKnown = 4096
	maxAge   = 10 * time.Minute
)

// known remembers what was refused by name and version, so that the same content is
// refused at once and not sent again. Listeners are left out unless one ended Envoy:
// what is wrong with one may be another at its address.
type known struct {
	refusals map[content]noted
	order    []content // oldest first
}

type content struct {
	xdsserve.Scoped
	version string
}

type noted struct {
	refusals []validator.Refusal
	at       time.Time
}

func (k *known) add(c content, r validator.Refusal, now time.Time) {
	if c.Type == xdsserve.Listener && r.Reason != verdict.CrashesProxy {
		return
	}
	if k.refusals == nil {
		k.refusals = map[content]noted{}
	}
	before, there := k.refusals[c]
	k.refusals[c] = noted{append(before.refusals, r), now}
	if there {
		return
	}
	if k.order = append(k.order, c); len(k.order) > maxKnown {
		k.forget()
	}
}

func (k *known) forget() {
	delete(k.refusals, k.order[0])
	k.order = k.order[1:]
}

// among returns what is known of an update's contents.
func (k *known) among(u xdsserve.Update, now time.Time) []validator.Refusal {
	for len(k.order) > 0 && now.Sub(k.refusals[k.order[0]].at) > maxAge {
		k.forget()
	}
	if len(k.order) == 0 {
		return nil
	}
	var out []validator.Refusal
	for _, r := range u.Set {
		out = append(out, k.refusals[content{xdsserve.Scoped{Group: r.Group, Name: r.Name}, r.Version}].refusals...)
	}
	return out
}
