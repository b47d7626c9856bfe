package roster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// Seat is where the store of this term is, if there is one.
type Seat struct{ holder atomic.Pointer[holder] }

// holder is a store and its term.
type holder struct {
	lease.Granter
	term context.Context //nolint:containedctx // who waits is let go with it
	end  context.CancelFunc
}

var _ lease.Granter = (*Seat)(nil)

// Take has requests go to a store.
func (s *Seat) Take(store lease.Granter) {
	h := &holder{Granter: store}
	h.term, h.end = context.WithCancel(context.Background())
	s.holder.Store(h)
}

// Leave has them refused, those too that wait.
func (s *Seat) Leave() {
	if h := s.holder.Swap(nil); h != nil {
		h.end()
	}
}

func (s *Seat) now() (*holder, error) {
	if h := s.holder.Load(); h != nil {
		return h, nil
	}
	return nil, lease.ErrUnavailable
}

// AcquireWithin implements [lease.Granter].
func (s *Seat) AcquireWithin(ctx context.Context, r lease.Request, wait time.Duration) (lease.Lease, error) {
	h, err := s.now()
	if err != nil {
		return lease.Lease{}, err
	}
	if wait > 0 {
		bounded, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(h.term, cancel)() //nolint:contextcheck // both end it
		ctx = bounded
	}
	got, err := h.AcquireWithin(ctx, r, wait)
	if h.term.Err() != nil {
		return lease.Lease{}, lease.ErrUnavailable // nobody would know of it
	}
	return got, err
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
