package session

import (
	"context"
	"net/http"
	"sync"
	"time"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Why what goes by a lease ends.
var (
	ErrEnded = ended("the lease of the proxy has ended")
	ErrGone  = ended("the proxy of the lease was deleted or replaced")
)

func ended(text string) error {
	return &forward.RefusalError{Status: http.StatusServiceUnavailable, Kind: "destination_unavailable", Reply: socks5.GeneralFailure, Text: text}
}

// Held is a lease that is kept.
type Held struct {
	keeper *Keeper
	lease  *client.Lease
	ask    Ask
	under  context.Context // ends with the lease; its cause is one of the errors above
	end    context.CancelCauseFunc
	timer  *time.Timer

	// Under keeper.mu.
	entry *entry // of the session that it is the lease of; nil without
	key   string
	uses  int
	last  time.Time // when it was given back
	asked *renewal  // nil unless one is under way
	fresh time.Time // until then, what the API said of it is new enough
	shown time.Time // until then, the proxy lets everything that is open go on
}

// Use is one connection's use of a lease, until Done is called.
type Use struct {
	*Held
	once sync.Once
}

// ID is the lease's.
func (h *Held) ID() string { return h.lease.ID }

// Proxy is what is leased, with the credentials of now.
func (h *Held) Proxy() client.Proxy { return h.lease.Proxy() }

// Under ends with the lease. Its cause is a [forward.RefusalError].
func (h *Held) Under() context.Context { return h.under }

// keep takes a new lease in. It is the caller's to use it, or a session's.
func (k *Keeper) keep(l *client.Lease, a Ask) (*Held, error) {
	h := &Held{keeper: k, lease: l, ask: a, last: time.Now()}
	h.fresh, h.shown = h.last.Add(newEnough), h.last.Add(l.Remaining())
	h.under, h.end = context.WithCancelCause(context.WithoutCancel(k.ctx))
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		k.work.Go(h.release)
		return nil, errStopped
	}
	k.held[h] = struct{}{}
	h.timer = time.AfterFunc(h.due(), h.step)
	return h, nil
}

// use counts one; keeper.mu is held.
func (h *Held) use() *Use {
	h.uses++
	return &Use{Held: h}
}

// Done gives the use back. Further calls do nothing.
func (u *Use) Done() {
	u.once.Do(func() {
		h := u.Held
		h.keeper.mu.Lock()
		defer h.keeper.mu.Unlock()
		h.uses--
		h.last = time.Now()
		h.keeper.settle(h)
	})
}

// settle releases a lease that nobody uses and no session keeps; keeper.mu is held.
func (k *Keeper) settle(h *Held) {
	switch {
	case h.uses > 0:
	case h.entry == nil:
		k.drop(h, ErrEnded)
	case h.asked == nil && h.under.Err() == nil:
		h.timer.Reset(h.wait(h.due()))
	}
}

// wait is how long nothing is to be done, if the lease lets it be for d; keeper.mu is held.
func (h *Held) wait(d time.Duration) time.Duration {
	if h.uses == 0 {
		return min(d, max(Idle-time.Since(h.last), 0))
	}
	return d
}

// leave takes a lease from its session; keeper.mu is held.
func (k *Keeper) leave(h *Held) {
	if h.entry == nil {
		return
	}
	if k.sessions[h.key] == h.entry {
		delete(k.sessions, h.key)
	}
	h.entry = nil
	k.settle(h)
}

// drop ends a lease, and releases it; keeper.mu is held.
func (k *Keeper) drop(h *Held, why error) {
	if _, kept := k.held[h]; !kept {
		return
	}
	delete(k.held, h)
	if h.entry != nil && k.sessions[h.key] == h.entry {
		delete(k.sessions, h.key)
	}
	h.entry = nil
	h.timer.Stop()
	h.end(why)
	if !k.stopped {
		k.work.Go(h.release)
	}
}

func (h *Held) release() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.keeper.ctx), releaseTime)
	defer cancel()
	if err := h.lease.Release(ctx); err != nil {
		h.keeper.Log.Debug("a lease is not released; it ends by itself", observe.KeyProxy, h.Proxy().ID(), observe.KeyError, err)
	}
}

// next is when the proxy is to be shown that the lease goes on: at half of its life, as the
// proxy knows it; keeper.mu is held.
func (h *Held) next() time.Duration {
	return max(time.Until(h.shown)-h.lease.TTL()/2, 0)
}

// lookEvery is how long the end of a proxy that was deleted or replaced may go unnoticed by
// what goes by it, however long its lease.
const lookEvery = 30 * time.Second

// due is when the lease is to be renewed; keeper.mu is held.
func (h *Held) due() time.Duration {
	return max(min(h.next(), time.Until(h.fresh.Add(lookEvery-newEnough))), 0)
}

// step is what the timer calls.
func (h *Held) step() {
	k := h.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, kept := k.held[h]; !kept || k.stopped || h.asked != nil {
		return
	}
	if h.uses == 0 && h.entry != nil && h.entry.waiting == 0 && time.Since(h.last) >= Idle {
		k.drop(h, ErrEnded)
		return
	}
	if due := h.due(); due > 0 {
		h.timer.Reset(h.wait(due))
		return
	}
	h.begin()
}
