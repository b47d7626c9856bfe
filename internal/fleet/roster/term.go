package roster

import (
	"context"
	"sync"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// Engine probes: what [health.Engine] does.
type Engine interface {
	Set(p health.Proxy, now time.Time)
	Remove(key string)
	Run(ctx context.Context)
	Snapshot(p *egress_v1alpha1.Proxy) (lifecycle.Verdict, bool)
	Doubtful() bool
	Probed(p *egress_v1alpha1.Proxy) bool
	Look(key string) (health.Look, bool)
	// Suspended is since when no verdict turns bad; zero when verdicts are not held.
	Suspended() time.Time
}

// Store is told of proxies, and asked how they are used.
type Store interface {
	Set(ctx context.Context, p lease.Proxy) error
	Remove(ctx context.Context, uid string) error
	Use(ctx context.Context, uid string) (lease.Use, error)
	// Retain removes the proxies that keep does not want: those that went while nobody told.
	Retain(ctx context.Context, keep func(uid string) bool) error
}

// term is the time in which this process leads.
type term struct {
	ctx     context.Context //nolint:containedctx // calls of the store end with the term
	store   Store
	engine  Engine
	settled bool // the store knows of all Proxies; under Roster.mu

	// Under Roster.telling:
	told   map[string]lease.Proxy // by UID; what the store was told in this term
	due    map[string]bool        // UIDs to be told when it answers again
	silent bool                   // it did not answer last
}

// Lead tells the store of all Proxies and of their changes, and has the engine probe
// them, until ctx ends. It returns when neither is used any more.
func (r *Roster) Lead(ctx context.Context, store Store, engine Engine) {
	t := &term{ctx: ctx, store: store, engine: engine, told: map[string]lease.Proxy{}, due: map[string]bool{}}
	var working sync.WaitGroup
	defer working.Wait()
	defer r.leave()
	r.enter(t)
	working.Go(func() { engine.Run(ctx) })
	if r.complete.Load() || r.awaitReady(ctx) {
		r.takeOver(ctx, t)
	}
	<-ctx.Done()
}

func (r *Roster) awaitReady(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.Ready:
		return true
	}
}

// enter begins the term, with probes of what is known.
func (r *Roster) enter(t *term) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.term = t
	now := r.Now()
	for _, e := range r.entries {
		e.drained = false
		t.probe(e, now)
	}
}

// takeOver has the store told of all, and of who is gone.
func (r *Roster) takeOver(ctx context.Context, t *term) {
	if r.round(ctx) != nil || !r.retain(ctx, t) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t.settled = true
}

// retain has the store forget who is gone; false says that ctx has ended.
func (r *Roster) retain(ctx context.Context, t *term) bool {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := r.retainOnce(ctx, t)
		if err == nil {
			return true
		}
		r.Log.Warn("the store of leases cannot be told which Proxies are gone; tried again", observe.KeyError, err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
	}
}

func (r *Roster) retainOnce(ctx context.Context, t *term) error {
	r.telling.Lock()
	defer r.telling.Unlock()
	ctx, cancel := t.bound(ctx)
	defer cancel()
	there := r.there()
	return t.store.Retain(ctx, func(uid string) bool { return there[uid] })
}

// leave ends the term, after the call of the store that is under way.
func (r *Roster) leave() {
	r.telling.Lock()
	defer r.telling.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.term = nil
}

// probe has the engine know of an entry what is known now.
func (t *term) probe(e *entry, now time.Time) {
	if e.probed {
		t.engine.Set(e.probe, now)
		return
	}
	t.engine.Remove(e.key.String())
}

// bound ends a call with the term, and in time.
func (t *term) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	stop := context.AfterFunc(t.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}
