package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Bounds of the cancels that the router sends on its own; those beyond are not sent.
const (
	lostTimeout = 5 * time.Second // from the end of a session
	lostAtOnce  = 64
)

// lost are the cancels that the router sends on its own. Leave waits for them.
type lost struct {
	places  chan struct{} // holds a token for each that is under way
	waiting sync.WaitGroup
}

func newLost() *lost { return &lost{places: make(chan struct{}, lostAtOnce)} }

// enter waits for a place.
func (l *lost) enter(ctx context.Context) error {
	select {
	case l.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lost) leave() { <-l.places }

// vanished is told that one side of a session was the first to end.
func (s *running) vanished(ctx context.Context, who proxy.Party) {
	if who == proxy.A && s.router.options.CancelOnDisconnect {
		s.lose(ctx, cancel.Vanished)
	}
}

// ended is told who ended a session that is over.
func (s *running) ended(ctx context.Context, who proxy.Party) {
	switch {
	case errors.Is(context.Cause(ctx), errPeerUnreachable):
		s.vanished(ctx, proxy.A)
	case who == proxy.Forced, who == proxy.Owner:
		s.lose(ctx, cancel.Cut)
	}
}

// lose cancels what the server still does for a client that will not hear of it: the
// server notices that only when it next writes.
func (s *running) lose(ctx context.Context, why cancel.Outcome) {
	key := s.tracker.Login().Key
	if key == (pgwire.Key{}) || !s.tracker.Busy() {
		return
	}
	r, target := s.router, s.target.Address
	r.lost.waiting.Go(func() {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lostTimeout)
		defer done()
		err := r.lost.enter(ctx)
		if err == nil {
			err = r.sendCancel(ctx, target, key)
			r.lost.leave()
		}
		outcome := why
		if err != nil {
			outcome = cancel.Failed
		}
		r.tally.Add(outcome)
		r.options.Log.Debug("cancelled what nobody waits for", observe.KeyReason, string(why), observe.KeyError, err)
	})
}
