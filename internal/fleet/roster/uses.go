package roster

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/explain"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// Asked is a store as people ask it.
type Asked interface {
	Use(ctx context.Context, uid string) (lease.Use, error)
	// Survey tells of all proxies at once, of their cooldowns only if whole is true.
	Survey(ctx context.Context) (uses map[string]lease.Use, whole bool, err error)
}

// Uses says how Proxies are probed and leased.
type Uses struct {
	Roster *Roster
	Store  Asked
	// Name is that of the store, without secrets.
	Name string
	// Serving returns why leases cannot be granted here, in a line, nil if they can.
	Serving func() error
}

var _ explain.Uses = (*Uses)(nil)

// Fill implements [explain.Uses].
func (u *Uses) Fill(ctx context.Context, proxies []explain.Known) explain.Leasing {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	out := explain.Leasing{Store: u.Name}
	failed := u.Serving()
	use := u.Store.Use
	if failed == nil && len(proxies) > few {
		use, failed = u.surveyed(ctx)
	}
	t := u.Roster.now()
	for i := range proxies {
		k := &proxies[i]
		key := types.NamespacedName{Namespace: k.Namespace, Name: k.Name}
		e := u.Roster.entry(key)
		if e == nil {
			continue
		}
		k.Offer = e.offer
		if t != nil {
			k.Probe = probeOf(t.engine, key)
		}
		if failed == nil {
			k.Use, failed = use(ctx, e.offer.Lease.UID)
		}
		if failed != nil { // one that is not there is not asked for each
			k.UseErr = explain.FirstLine(failed)
		}
	}
	if failed != nil {
		out.Error = explain.FirstLine(failed)
	}
	if t != nil {
		if since := t.engine.Suspended(); !since.IsZero() {
			out.SuspendedSince = new(since)
		}
	}
	return out
}

// few are so many proxies that the store is asked for each of them.
const few = 8

// surveyed asks for the use of all proxies at once, if the store can tell.
func (u *Uses) surveyed(ctx context.Context) (use func(context.Context, string) (lease.Use, error), err error) {
	uses, whole, err := u.Store.Survey(ctx)
	if err != nil || !whole {
		return u.Store.Use, err
	}
	return func(_ context.Context, uid string) (lease.Use, error) { return uses[uid], nil }, nil
}

func probeOf(engine Engine, key types.NamespacedName) *explain.Probe {
	l, ok := engine.Look(key.String())
	if !ok {
		return nil
	}
	p := &explain.Probe{
		URL: l.Check.URL, Interval: l.Check.Interval, SuccessThreshold: l.Check.SuccessThreshold, FailureThreshold: l.Check.FailureThreshold,
		Class: string(l.Last.Class), Message: l.Last.Message, At: l.At, InRow: l.InRow, Next: l.Next, Suspended: l.Suspended,
	}
	if l.Last.Class == health.OK {
		p.Latency = max(l.Last.Latency, time.Nanosecond)
	}
	return p
}
