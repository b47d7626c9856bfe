package roster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// Seat is where the store of this term is, if there is one.
type Seat struct{ store atomic.Pointer[lease.Granter] }

var _ lease.Granter = (*Seat)(nil)

// Take has requests go to a store.
func (s *Seat) Take(store lease.Granter) { s.store.Store(&store) }

// Leave has them refused.
func (s *Seat) Leave() { s.store.Store(nil) }

func (s *Seat) now() (lease.Granter, error) {
	if store := s.store.Load(); store != nil {
		return *store, nil
	}
	return nil, lease.ErrUnavailable
}

// AcquireWithin implements [lease.Granter].
func (s *Seat) AcquireWithin(ctx context.Context, r lease.Request, wait time.Duration) (lease.Lease, error) {
	store, err := s.now()
	if err != nil {
		return lease.Lease{}, err
	}
	return store.AcquireWithin(ctx, r, wait)
}

// Renew implements [lease.Granter].
func (s *Seat) Renew(ctx context.Context, id string, ttl time.Duration) (lease.Lease, error) {
	store, err := s.now()
	if err != nil {
		return lease.Lease{}, err
	}
	return store.Renew(ctx, id, ttl)
}

// Release implements [lease.Granter].
func (s *Seat) Release(ctx context.Context, id string) error {
	store, err := s.now()
	if err != nil {
		return err
	}
	return store.Release(ctx, id)
}

// Report implements [lease.Granter].
func (s *Seat) Report(ctx context.Context, id string, result lease.Result, target string) error {
	store, err := s.now()
	if err != nil {
		return err
	}
	return store.Report(ctx, id, result, target)
}

// Counts implements [lease.Granter].
func (s *Seat) Counts(ctx context.Context) (map[string]int, error) {
	store, err := s.now()
	if err != nil {
		return nil, err
	}
	return store.Counts(ctx)
}

// Use implements [lease.Granter].
func (s *Seat) Use(ctx context.Context, uid string) (lease.Use, error) {
	store, err := s.now()
	if err != nil {
		return lease.Use{}, err
	}
	return store.Use(ctx, uid)
}
