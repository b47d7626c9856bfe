package postgres

import (
	"context"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// lastLinger is how long the last clients may take to read why they are cut, and again
// how long closing them may take: with the drain, and the cancels of what was cut, it has
// to fit into the grace of a pod, 40 s in the manifests.
const lastLinger = 2 * time.Second

// Leave ends the sessions in which nothing is under way, now and as the others come to
// that, with SQLSTATE 57P01, so that clients connect again elsewhere. It returns once
// there is no session. When ctx ends the rest is cut, with the same word where it can
// stand, and what its servers still do is cancelled. The error says that connections could not be closed.
func (r *Router) Leave(ctx context.Context) error {
	began := time.Now()
	r.server.Stop()
	r.leaving.Store(true)
	sessions := r.roster.sessions()
	r.options.Log.Info("draining: sessions end as they become idle", observe.KeyTotal, len(sessions))
	for _, s := range sessions {
		s.leave()
	}
	cut := 0
	err := r.server.Drain(ctx)
	if err != nil {
		cut, err = r.evict(ctx)
	}
	r.lost.waiting.Wait()
	r.options.Log.Info("drained", observe.KeyTotal, len(sessions), observe.KeyCut, cut, observe.KeyTook, time.Since(began).Round(time.Millisecond))
	return err
}

// evict cuts what is left, and tells how many sessions that were.
func (r *Router) evict(ctx context.Context) (int, error) {
	working := context.WithoutCancel(ctx)
	rest := r.roster.sessions()
	for _, s := range rest {
		s.expel()
	}
	lingering, done := context.WithTimeout(working, lastLinger)
	defer done()
	if r.server.Drain(lingering) == nil {
		return len(rest), nil
	}
	r.server.Force()
	forced, cancel := context.WithTimeout(working, lastLinger)
	defer cancel()
	return len(rest), r.server.Drain(forced)
}

// leave ends the session now if nothing is under way in it; fromServer does so later.
func (s *running) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relay == nil {
		s.cut(session.ErrLeaving)
		return
	}
	s.relay.End(func() (proxy.Final, bool) {
		return proxy.Final{ToA: session.ErrLeaving.Response().Append(nil)}, s.tracker.Seal()
	})
}

// expel ends the session whatever is under way in it.
func (s *running) expel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relay == nil {
		s.cut(session.ErrLeaving)
		return
	}
	s.relay.End(func() (proxy.Final, bool) { return s.lastWords(session.ErrLeaving), true })
}
