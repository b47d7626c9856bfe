package session

import (
	"cmp"
	"context"
	"errors"
	"time"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// newEnough is how long who comes to a session trusts what the API said of its lease: so
// long a report about the proxy may go unnoticed, and so rarely is the API asked.
const newEnough = time.Second

// patience is how long who comes to a session waits for news of its lease.
const patience = time.Second

// renewal is one that is under way.
type renewal struct {
	began time.Time
	told  chan struct{} // closed once the API has answered, or cannot be reached
}

// look has the lease of a session renewed unless that is just done, and waits for what
// the API says: whether there is the lease, and whether its proxy rests for the target.
// Then the session has left it; its connections that are open keep it. An API that does
// not answer changes nothing.
func (k *Keeper) look(ctx context.Context, e *entry) {
	r := k.news(e) //nolint:contextcheck // a renewal is of the lease, which outlives each
	if r == nil {
		return
	}
	late := time.NewTimer(time.Until(r.began.Add(patience)))
	defer late.Stop()
	select {
	case <-r.told:
	case <-late.C:
	case <-ctx.Done():
	}
}

// news is the renewal to wait for, nil if what is known is new enough.
func (k *Keeper) news(e *entry) *renewal {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := e.held
	if h == nil || h.entry != e || k.stopped || time.Now().Before(h.fresh) {
		return nil
	}
	if h.asked == nil {
		h.begin()
	}
	return h.asked
}

// begin begins a renewal; keeper.mu is held, and none is under way.
func (h *Held) begin() {
	k, r := h.keeper, &renewal{time.Now(), make(chan struct{})}
	h.asked = r
	k.work.Go(func() {
		retry := h.renew(r)
		k.mu.Lock()
		defer k.mu.Unlock()
		h.asked = nil
		if _, kept := k.held[h]; kept && !k.stopped {
			h.timer.Reset(h.wait(cmp.Or(retry, h.due())))
		}
	})
}

// renew returns when to look again if it failed, else 0.
func (h *Held) renew(r *renewal) (retry time.Duration) {
	before := h.Proxy()
	ctx, cancel := context.WithTimeout(h.keeper.ctx, max(min(h.lease.Remaining(), callTime), time.Second))
	defer cancel()
	if err := h.lease.Renew(ctx, 0); err != nil {
		h.keeper.Log.Warn("a lease is not renewed", observe.KeyProxy, before.ID(), observe.KeyError, err)
		return h.failed(r, err)
	}
	if until := h.lease.CoolingUntil(); !until.IsZero() && h.depart() {
		h.keeper.Log.Info("a session leaves its proxy, which rests for the target", observe.KeyProxy, before.ID(), "target", h.ask.Target, "until", until)
	}
	now := h.Proxy()
	if h.renewed(r, now.Username != before.Username || now.Password != before.Password) {
		h.present(ctx, now)
	}
	return 0
}

// tries is how often a renewal that fails is tried again, about, before the lease ends.
const tries = 4

// failed ends a lease of which the API said so, and else returns when to look again.
func (h *Held) failed(r *renewal, err error) (retry time.Duration) {
	k := h.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	defer close(r.told)
	switch {
	case errors.Is(err, client.ErrProxyGone):
		k.drop(h, ErrGone)
	case errors.Is(err, client.ErrUnknownLease), h.lease.Remaining() <= 0:
		k.drop(h, ErrEnded)
	}
	retry = min(max(h.lease.Remaining()/tries, 100*time.Millisecond), callTime)
	h.fresh = time.Now().Add(max(retry, newEnough))
	return retry
}

// depart has a session leave its lease, and says whether it had not.
func (h *Held) depart() bool {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	if h.entry == nil {
		return false
	}
	h.keeper.leave(h)
	return true
}

// renewed says whether the proxy is to be shown other credentials, so that what is open
// goes on: as often as if nobody had come, at half of the life of those that it was shown.
func (h *Held) renewed(r *renewal, other bool) (show bool) {
	h.keeper.mu.Lock()
	defer h.keeper.mu.Unlock()
	defer close(r.told)
	h.fresh = r.began.Add(newEnough)
	show = other && h.uses > 0 && h.next() == 0
	if show || !other || h.uses == 0 {
		h.shown = time.Now().Add(h.lease.Remaining())
	}
	return show
}

func (h *Held) present(ctx context.Context, now client.Proxy) {
	if err := h.keeper.Present(ctx, now); err != nil {
		h.keeper.Log.Warn("renewed credentials are not shown to the proxy; it ends what is open under the lease", observe.KeyProxy, now.ID(), observe.KeyError, err)
	}
}
