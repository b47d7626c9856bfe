package forward

import (
	"context"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
)

// openLeases are those under which something is open, and nothing else: as many as there are
// connections, at most.
type openLeases struct {
	mu   sync.Mutex
	open map[string]*openLease
}

// openLease has the latest end that a client has shown of it.
type openLease struct {
	until time.Time
	timer *time.Timer
	holds map[*context.CancelCauseFunc]struct{}
}

// hold ends what a grant allows at its end, or at a later one that is shown meanwhile.
// The function that it returns forgets it.
func (l *openLeases) hold(grant access.Grant, cancel context.CancelCauseFunc) (forget func()) {
	if grant.Until.IsZero() {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.open[grant.Lease]
	if held == nil {
		held = &openLease{holds: make(map[*context.CancelCauseFunc]struct{})}
		held.timer = time.AfterFunc(time.Until(grant.Until), func() { l.end(grant.Lease, held) })
		if l.open == nil {
			l.open = make(map[string]*openLease)
		}
		l.open[grant.Lease] = held
	}
	held.prolong(grant.Until)
	held.holds[&cancel] = struct{}{}
	return func() { l.forget(grant.Lease, held, &cancel) }
}

func (l *openLeases) forget(id string, held *openLease, hold *context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(held.holds, hold); len(held.holds) == 0 && l.open[id] == held {
		held.timer.Stop()
		delete(l.open, id)
	}
}

// shown notes a valid credential: what is open under its lease may go on until its end.
func (l *openLeases) shown(grant access.Grant) {
	if grant.Until.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if held := l.open[grant.Lease]; held != nil {
		held.prolong(grant.Until)
	}
}

// end is what the timer calls, at an end that may have been the latest once.
func (l *openLeases) end(id string, held *openLease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := time.Until(held.until); left > 0 {
		held.timer.Reset(left)
		return
	}
	if l.open[id] == held {
		delete(l.open, id)
	}
	for cancel := range held.holds {
		(*cancel)(errExpired)
	}
}

// prolong leaves the timer: it looks at until when it comes.
func (l *openLease) prolong(until time.Time) {
	if until.After(l.until) {
		l.until = until
	}
}
