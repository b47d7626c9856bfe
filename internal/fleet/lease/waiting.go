package lease

import (
	"context"
	"errors"
	"time"
)

// MaxWait is how long a request may wait for a proxy.
const MaxWait = 30 * time.Second

// ErrTooMany means that as many requests wait for a proxy as may; ask again soon.
var ErrTooMany = errors.New("too many requests wait for a proxy")

// Granter is what the API asks: a Store whose requests may wait.
type Granter interface {
	// AcquireWithin is [Store.Acquire], which waits for a proxy if none suits: first come
	// first served among those with the same selector and target. It returns the last
	// [NoMatchError] once wait, at most MaxWait, is over, [ErrTooMany] if it may not wait,
	// and the error of ctx if that ends first.
	AcquireWithin(ctx context.Context, r Request, wait time.Duration) (Lease, error)
	Renew(ctx context.Context, id string, ttl time.Duration) (Lease, error)
	Release(ctx context.Context, id string) error
	Report(ctx context.Context, id string, result Result, target string) error
	Counts(ctx context.Context) (map[string]int, error)
	Use(ctx context.Context, uid string) (Use, error)
}

// WaitOptions of a Waiting.
type WaitOptions struct {
	// Most is how many may wait; 1024 by default.
	Most int
	// Every is how often a store is asked again that other processes share; 0 if none does.
	Every time.Duration
}

// Waiting is a Store whose requests may wait. What frees a proxy is to be told to it, not
// to the store that it is made of, so that it knows whom to wake.
type Waiting struct {
	Store
	o WaitOptions
}

var _ Granter = (*Waiting)(nil)

// NewWaiting returns a Waiting over s.
func NewWaiting(s Store, o WaitOptions) *Waiting {
	return &Waiting{s, o}
}

// AcquireWithin implements Granter.
func (w *Waiting) AcquireWithin(ctx context.Context, r Request, wait time.Duration) (Lease, error) {
	until := time.Now().Add(min(wait, MaxWait))
	for {
		got, err := w.Acquire(ctx, r)
		if _, none := errors.AsType[*NoMatchError](err); !none || !time.Now().Before(until) {
			return got, err
		}
		select {
		case <-ctx.Done():
			return Lease{}, ctx.Err()
		case <-time.After(min(time.Until(until), 50*time.Millisecond)):
		}
	}
}
