package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Session is what people are told of one.
type Session struct {
	Token     string            `json:"token"`
	Session   string            `json:"session"`
	Selector  map[string]string `json:"selector"`
	Namespace string            `json:"namespace,omitempty"`
	Target    string            `json:"target"`
	// Proxy is "namespace/name".
	Proxy     string    `json:"proxy"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Uses are the connections that go by it now.
	Uses     int        `json:"uses"`
	LastUsed *time.Time `json:"lastUsed,omitempty"` // nil while it is used
}

// Sessions returns all that have a lease, in order of token, session, target.
func (k *Keeper) Sessions() []Session {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := []Session{}
	for h := range k.held {
		if h.entry == nil {
			continue
		}
		s := Session{
			Token: h.ask.Holder, Session: h.ask.Session, Selector: h.ask.Selector, Namespace: h.ask.Namespace, Target: h.ask.Target,
			Proxy: h.Proxy().ID(), ExpiresAt: h.lease.ExpiresAt(), Uses: h.uses,
		}
		if h.uses == 0 {
			s.LastUsed = new(h.last)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Session) int {
		return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Proxy, b.Proxy))
	})
	return all
}

// Kept returns how many sessions there are, and how many leases in all.
func (k *Keeper) Kept() (sessions, leases int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.sessions), len(k.held)
}

// Stop ends all leases, releases them, and returns once that is done or ctx ends.
func (k *Keeper) Stop(ctx context.Context) {
	k.mu.Lock()
	k.stopped = true
	all := make([]*Held, 0, len(k.held))
	for h := range k.held {
		all = append(all, h)
		k.drop(h, ErrEnded)
	}
	k.mu.Unlock()
	k.cancel()
	next := make(chan *Held)
	var workers sync.WaitGroup
	for range min(releases, len(all)) {
		workers.Go(func() { //nolint:contextcheck // each has a time of its own
			for h := range next {
				h.release()
			}
		})
	}
	for _, h := range all {
		if ctx.Err() != nil {
			break
		}
		next <- h
	}
	close(next)
	workers.Wait()
	k.work.Wait()
}
