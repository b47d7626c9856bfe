package session

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/username"
)

// Idle is how long the lease of a session is kept after its last use.
const Idle = time.Minute

// Bounds of calls to the lease API.
const (
	callTime    = 10 * time.Second // beside what it is asked to wait
	releaseTime = 5 * time.Second
	releases    = 32 // at once, at the end
)

// Metrics counts what is asked of the lease API. Its methods may be called at once.
type Metrics interface {
	// Acquired counts a request for a lease: ok, or the code that it was refused with.
	Acquired(outcome string, took time.Duration)
}

// Ask is what a connection needs a lease for. Its Target is set.
type Ask struct {
	// Holder is the name of the token.
	Holder string
	username.Wish
}

// key is the same for connections that share a lease.
func (a Ask) key() string { return a.Holder + " " + a.String() }

// request asks for the lease. The session of one token is not that of another.
func (a Ask) request(wait time.Duration, without string) client.Request {
	r := client.Request{Selector: a.Selector, Namespace: a.Namespace, Target: a.Target, TTL: a.TTL, Wait: wait}
	if a.Session != "" {
		r.Session = a.Holder + "/" + a.Session
	}
	if without != "" {
		r.Exclude = []string{without}
	}
	return r
}

// Keeper keeps the leases. Make it with [New], and [Keeper.Stop] it once.
type Keeper struct {
	Options
	ctx    context.Context // of what it does by itself
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	stopped  bool
	sessions map[string]*entry
	held     map[*Held]struct{}
	api      told
}

// Options are what a Keeper is made of. All but Metrics are needed.
type Options struct {
	Client *client.Client
	// Wait is how long the lease API waits for a proxy that suits.
	Wait time.Duration
	// Present shows a proxy the credentials of a lease that was renewed, so that what is
	// open goes on.
	Present func(ctx context.Context, p client.Proxy) error
	Metrics Metrics
	Log     *slog.Logger
}

// New returns a Keeper without leases.
func New(o Options) *Keeper {
	k := &Keeper{Options: o, sessions: make(map[string]*entry), held: make(map[*Held]struct{})}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// entry is a session: its lease, or who waits for one.
type entry struct {
	ready   chan struct{} // closed once held or err is set
	held    *Held
	err     error
	waiting int
	cancel  context.CancelFunc // of the request for its lease
}

var errStopped = ended("the super-proxy is going away")

// Take returns a use of a lease for what is asked: the session's own, or a new one, also
// where the API says that the proxy of the session's rests for the target. A
// lease by whose proxy the last attempt failed is left to those who still use it, and its
// proxy is not taken again. Errors are those of the client, and of ctx.
func (k *Keeper) Take(ctx context.Context, a Ask, failed *Held) (*Use, error) {
	if a.Session == "" {
		h, err := k.acquire(ctx, a, failed)
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		return h.use(), nil
	}
	for {
		e, err := k.entry(a, failed) //nolint:contextcheck // a lease of several connections outlives each
		if err != nil {
			return nil, err
		}
		select {
		case <-e.ready:
			k.look(ctx, e)
		case <-ctx.Done():
		}
		if u, err := k.join(ctx, e); u != nil || err != nil {
			return u, err
		}
	}
}

// entry returns the session's, perhaps a new one that waits for a lease.
func (k *Keeper) entry(a Ask, failed *Held) (*entry, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped {
		return nil, errStopped
	}
	key := a.key()
	e := k.sessions[key]
	if e != nil && (e.held == nil || e.held != failed && e.held.under.Err() == nil) {
		e.waiting++
		return e, nil
	}
	if e != nil {
		k.leave(e.held)
	}
	ctx, cancel := context.WithCancel(k.ctx)
	e = &entry{ready: make(chan struct{}), cancel: cancel, waiting: 1}
	k.sessions[key] = e
	k.work.Go(func() {
		defer cancel()
		k.fill(ctx, e, a, failed)
	})
	return e, nil
}

// fill gets the lease of a session.
func (k *Keeper) fill(ctx context.Context, e *entry, a Ask, failed *Held) {
	h, err := k.acquire(ctx, a, failed)
	k.mu.Lock()
	defer k.mu.Unlock()
	defer close(e.ready)
	if e.held, e.err = h, err; err != nil {
		delete(k.sessions, a.key())
		return
	}
	h.entry, h.key = e, a.key()
}

// join uses the lease of an entry. Neither a use nor an error is an entry whose lease has
// just ended, or which its session has left.
func (k *Keeper) join(ctx context.Context, e *entry) (*Use, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.waiting--
	switch {
	case ctx.Err() != nil:
		if e.waiting == 0 && e.held == nil {
			e.cancel()
		}
		return nil, context.Cause(ctx)
	case e.err != nil && errors.Is(e.err, context.Canceled) && !k.stopped: // by one who waited for it before
		return nil, nil //nolint:nilnil // once more
	case e.err != nil:
		return nil, e.err
	case e.held.under.Err() != nil || e.held.entry != e:
		return nil, nil //nolint:nilnil // once more
	}
	return e.held.use(), nil
}

// acquire asks for a lease of its own.
func (k *Keeper) acquire(ctx context.Context, a Ask, failed *Held) (*Held, error) {
	wait, without := k.Wait, ""
	if failed != nil { // somebody has waited enough
		wait, without = 0, failed.Proxy().ID()
	}
	ctx, cancel := context.WithTimeout(ctx, wait+callTime)
	defer cancel()
	began := time.Now()
	l, err := k.Client.Acquire(ctx, a.request(wait, without))
	if k.Metrics != nil {
		k.Metrics.Acquired(outcome(err), time.Since(began))
	}
	k.tell(err)
	if err != nil {
		return nil, err
	}
	return k.keep(l, a)
}

func outcome(err error) string {
	if e, ok := errors.AsType[*client.Error](err); ok {
		return e.Code
	}
	if err != nil {
		return "canceled"
	}
	return "ok"
}
