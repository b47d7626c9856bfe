package roster

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// tell has the store know of one Proxy what is known here. While the store does not
// answer, that waits, for all Proxies together.
func (r *Roster) tell(ctx context.Context, uid string) {
	r.telling.Lock()
	defer r.telling.Unlock()
	t := r.now()
	if t == nil {
		return
	}
	if t.silent {
		t.due[uid] = true
		return
	}
	if err := r.tellOne(ctx, t, uid); err != nil {
		r.later(t, uid, err)
	}
}

// later has the store told again.
func (r *Roster) later(t *term, uid string, err error) {
	t.due[uid] = true
	if t.silent || t.ctx.Err() != nil {
		return
	}
	t.silent = true
	r.Log.Warn("the store of leases cannot be told of Proxies; tried again", observe.KeyError, err)
	r.queue.AddRateLimited(item{kind: ofStore})
}

// tellAll tells the store what is due. It is done when nothing is any more.
func (r *Roster) tellAll(ctx context.Context) (done bool) {
	r.telling.Lock()
	defer r.telling.Unlock()
	t := r.now()
	if t == nil || !t.silent {
		return true
	}
	for _, uid := range slices.Sorted(maps.Keys(t.due)) {
		err := r.tellOne(ctx, t, uid)
		if errors.Is(err, lease.ErrUnavailable) || ctx.Err() != nil {
			return false
		}
		if err == nil {
			delete(t.due, uid)
		}
	}
	if len(t.due) > 0 {
		return false
	}
	t.silent = false
	r.Log.Info("the store of leases knows of all Proxies again")
	return true
}

// tellOne makes at most one call. It is called with telling.
func (r *Roster) tellOne(ctx context.Context, t *term, uid string) error {
	want, known := r.wanted(uid)
	told, was := t.told[uid]
	if known && was && same(&want, &told) || !known && !was {
		return nil
	}
	ctx, cancel := t.bound(ctx)
	defer cancel()
	if known {
		if err := t.store.Set(ctx, want); err != nil {
			return err
		}
		t.told[uid] = want
		return nil
	}
	if err := t.store.Remove(ctx, uid); err != nil {
		return err
	}
	delete(t.told, uid)
	return nil
}

// wanted is what the store is to know of a Proxy, false for nothing.
func (r *Roster) wanted(uid string) (lease.Proxy, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e := r.byUID[uid]
	if e == nil {
		return lease.Proxy{}, false
	}
	p := e.offer.Lease
	p.Healthy = p.Healthy && !e.drained
	return p, true
}

func same(a, b *lease.Proxy) bool {
	return a.UID == b.UID && a.Namespace == b.Namespace && a.Name == b.Name && a.Instance == b.Instance && a.Address == b.Address &&
		a.LatencyMillis == b.LatencyMillis && a.Healthy == b.Healthy && a.Capacity == b.Capacity && a.PerTarget == b.PerTarget &&
		maps.Equal(a.Attributes, b.Attributes)
}

// now is the term, nil while this process does not lead.
func (r *Roster) now() *term {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.term
}
