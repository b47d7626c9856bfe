package roster

import (
	"context"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// Survey is [lease.Survey] of the store of this term.
func (s *Seat) Survey(ctx context.Context) (uses map[string]lease.Use, whole bool, err error) {
	granter, err := s.now()
	if err != nil {
		return nil, false, err
	}
	if store, is := granter.Granter.(lease.Store); is {
		return lease.Survey(ctx, store)
	}
	return nil, false, lease.ErrUnavailable
}

// Waiters is how many requests wait for a proxy now.
func (s *Seat) Waiters() int {
	granter, err := s.now()
	if err != nil {
		return 0
	}
	if waiting, is := granter.Granter.(interface{ Waiters() int }); is {
		return waiting.Waiters()
	}
	return 0
}
