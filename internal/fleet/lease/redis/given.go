package redis

import (
	"context"
	"slices"
	"sync"
)

// given is what a server that fails may keep for ever or lose: leases that were perhaps
// granted, which nobody has, and those that ended last, which it may not remember.
type given struct {
	mu        sync.Mutex
	abandoned []string
	released  []string // a ring
	next      int
	// doubted are those that had been released when a call first failed since all was told
	// again.
	doubted []string
	doubt   bool
}

// Bounds of what is remembered.
const (
	maxAbandoned = 1 << 14
	maxReleased  = 1 << 12
)

// abandon notes a lease that nobody has the ID of.
func (g *given) abandon(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.abandoned) < maxAbandoned {
		g.abandoned = append(g.abandoned, id)
	}
}

// release notes a lease that ended.
func (g *given) release(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.released) < maxReleased {
		g.released = append(g.released, id)
		return
	}
	g.released[g.next] = id
	g.next = (g.next + 1) % maxReleased
}

// suspect notes that the server may be another, or have forgotten something.
func (g *given) suspect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.doubt {
		g.doubt, g.doubted = true, slices.Clone(g.released)
	}
}

// take returns what is to be ended: leases that nobody has, once, and those that ended if
// the server may have forgotten it.
func (g *given) take() (abandoned, released []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	abandoned, released = g.abandoned, g.doubted
	g.abandoned, g.doubted, g.doubt = nil, nil, false
	return abandoned, released
}

// endAgain ends what a server that answers again may take for active.
func (s *Store) endAgain(ctx context.Context) error {
	abandoned, released := s.given.take()
	all := slices.Concat(abandoned, released)
	for i, id := range all {
		if err := s.end(ctx, id); err != nil {
			for _, id := range all[i:] {
				s.given.abandon(id)
			}
			return err
		}
	}
	for _, id := range abandoned {
		s.given.release(id)
	}
	return nil
}

func (s *Store) end(ctx context.Context, id string) error {
	return s.expect(ctx, call{script: s.scripts.release, args: []any{s.time(), id}}, "released")
}
