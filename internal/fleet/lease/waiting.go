package lease

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// MaxWait is how long a request may wait for a proxy.
const MaxWait = 30 * time.Second

// ErrTooMany means that as many requests wait for a proxy as may; ask again soon.
var ErrTooMany = errors.New("too many requests wait for a proxy")

// Granter is what the API asks: a Store whose requests may wait.
type Granter interface {
	// AcquireWithin is [Store.Acquire], which waits for a proxy if none suits: first come
	// first served among those with the same selector and target, also before those that do
	// not wait. It returns the last [NoMatchError] once wait, at most MaxWait, is over,
	// [ErrTooMany] if it may not wait, and the error of ctx if that ends first.
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

// Watcher is a Store that says what was freed, whoever asked it.
type Watcher interface {
	// Watch lets f know of each proxy that may take leases which it could not take before;
	// nil stands for any. F does not block, and asks the store nothing. Watch is called
	// before the store is used.
	Watch(f func(*Proxy))
}

// Keeper is a Store that can find a lease by its key, and grants none.
type Keeper interface {
	// Kept returns the lease that the key of a request has, or [ErrReused]; found is false
	// if it has none.
	Kept(ctx context.Context, r Request) (got Lease, found bool, err error)
}

// Waiting is a Store whose requests may wait. Who waits asks the store when it is their
// turn, in their own goroutines: there are no others. Over a store that is no [Watcher],
// what frees a proxy is to be told to the Waiting, so that it knows when to wake.
type Waiting struct {
	Store
	o       WaitOptions
	watched bool
	n       atomic.Int64 // how many stand in line

	mu      sync.Mutex // not held while the store is asked, which may hold its own lock and tell
	groups  map[string]*group
	patient int       // of those in line, how many wait
	told    time.Time // when everybody was woken last
}

var (
	_ Granter = (*Waiting)(nil)
	_ Store   = (*Waiting)(nil)
	_ Watcher = (*Memory)(nil)
	_ Keeper  = (*Memory)(nil)
)

// NewWaiting returns a Waiting over s.
func NewWaiting(s Store, o WaitOptions) *Waiting {
	if o.Most == 0 {
		o.Most = 1024
	}
	w := &Waiting{Store: s, o: o, groups: map[string]*group{}}
	if watcher, ok := s.(Watcher); ok {
		watcher.Watch(w.freed)
		w.watched = true
	}
	return w
}

// Waiters returns how many requests wait.
func (w *Waiting) Waiters() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.patient
}

// Acquire implements Store: it does not wait, and does not overtake.
func (w *Waiting) Acquire(ctx context.Context, r Request) (Lease, error) {
	return w.AcquireWithin(ctx, r, 0)
}

// AcquireWithin implements Granter.
func (w *Waiting) AcquireWithin(ctx context.Context, r Request, wait time.Duration) (Lease, error) {
	wait = min(max(wait, 0), MaxWait)
	if !w.busy(r) {
		got, err := w.ask(ctx, r)
		if _, none := errors.AsType[*NoMatchError](err); !none || wait == 0 {
			return got, err
		}
	} else if keeper, ok := w.Store.(Keeper); ok && r.Key != "" {
		if got, found, err := keeper.Kept(ctx, r); found || err != nil {
			return got, err
		}
	}
	me, err := w.join(r, wait > 0)
	if err != nil {
		return Lease{}, err
	}
	defer w.leave(me)
	return w.await(ctx, me, wait)
}

// ask asks the store. Who hung up meanwhile and cannot repeat the request does not keep a
// lease that nobody knows.
func (w *Waiting) ask(ctx context.Context, r Request) (Lease, error) {
	got, err := w.Store.Acquire(ctx, r)
	if err != nil || ctx.Err() == nil || r.Key != "" {
		return got, err
	}
	free, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = w.Release(free, got.ID) // else it ends by itself
	return Lease{}, ctx.Err()
}

// await asks the store whenever it is one's turn, until there is an answer.
func (w *Waiting) await(ctx context.Context, me *waiter, wait time.Duration) (Lease, error) {
	deadline, retry := time.NewTimer(wait), time.NewTimer(MaxWait)
	defer deadline.Stop()
	defer retry.Stop()
	over := deadline.C
	if !me.patient {
		over = nil
	}
	for {
		select {
		case <-me.turn:
			got, err := w.ask(ctx, me.r)
			no, none := errors.AsType[*NoMatchError](err)
			if !none || !me.patient {
				return got, err
			}
			retry.Reset(w.again(no))
			w.pass(me, no)
		case <-retry.C:
			w.wake(me.line)
		case <-me.over:
			return w.last(ctx, me)
		case <-over:
			return w.last(ctx, me)
		case <-ctx.Done():
			return Lease{}, ctx.Err()
		}
	}
}

// last is the answer to one who waits no longer: if it is its turn, or nobody was ever
// refused, what the store says now; else how it or who stands before it was refused.
func (w *Waiting) last(ctx context.Context, me *waiter) (Lease, error) {
	no := w.refusal(me)
	select {
	case <-me.turn:
		no = nil
	default:
	}
	if no == nil {
		return w.ask(ctx, me.r)
	}
	return Lease{}, no
}

// again is how long after a refusal to ask again if nobody tells of anything.
func (w *Waiting) again(no *NoMatchError) time.Duration {
	after := MaxWait
	if no.RetryAfter > 0 {
		after = min(after, no.RetryAfter)
	}
	if w.o.Every > 0 {
		after = min(after, w.o.Every)
	}
	return after
}

// Set implements Store.
func (w *Waiting) Set(ctx context.Context, p Proxy) error {
	err := w.Store.Set(ctx, p)
	if !w.watched {
		w.freed(&p)
	}
	return err
}

// Renew implements Store.
func (w *Waiting) Renew(ctx context.Context, id string, ttl time.Duration) (Lease, error) {
	got, err := w.Store.Renew(ctx, id, ttl)
	w.unwatched()
	return got, err
}

// Release implements Store.
func (w *Waiting) Release(ctx context.Context, id string) error {
	err := w.Store.Release(ctx, id)
	w.unwatched()
	return err
}

// Report implements Store.
func (w *Waiting) Report(ctx context.Context, id string, result Result, target string) error {
	err := w.Store.Report(ctx, id, result, target)
	if result != OK {
		w.unwatched()
	}
	return err
}

// rare is how often everybody is woken at most, when nobody says what was freed. Who is
// not woken then asks again after WaitOptions.Every.
const rare = 20 * time.Millisecond

// unwatched wakes everybody where the store does not tell what was freed.
func (w *Waiting) unwatched() {
	if w.watched || w.n.Load() == 0 {
		return
	}
	w.mu.Lock()
	now := time.Now()
	late := w.o.Every == 0 || now.Sub(w.told) >= rare
	if late {
		w.told = now
	}
	w.mu.Unlock()
	if late {
		w.freed(nil)
	}
}
