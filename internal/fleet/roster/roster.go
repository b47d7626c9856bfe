// Package roster keeps what is offered, the store of leases and the probes in step with
// Proxies and their Secrets, one event at a time: no request and no event looks at all
// Proxies.
//
// Every process that serves leases has a Roster, which a shell tells of changes. While
// it leads, and with files always, it also tells the store, and has an engine of probes.
package roster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

type proxy = egress_v1alpha1.Proxy

// Objects is where Proxies and Secrets are read: what reconcile.Objects reads.
type Objects interface {
	Proxy(ctx context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error)
	Proxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error)
	Secret(ctx context.Context, key types.NamespacedName) (*core_v1.Secret, error)
}

// Options make a Roster; all but CheckURL are required.
type Options struct {
	Objects Objects
	// Ready is closed once Objects are complete.
	Ready <-chan struct{}
	// CheckURL is asked through Proxies that name none; empty for none.
	CheckURL string
	Log      *slog.Logger
	Now      func() time.Time
}

// Roster is safe for concurrent use.
type Roster struct {
	Options
	queue    workqueue.TypedRateLimitingInterface[item]
	started  atomic.Uint64 // handlings so far
	complete atomic.Bool
	book     book

	// Of the goroutine of Run alone:
	secrets map[types.NamespacedName]*secret
	usedBy  map[types.NamespacedName][]types.NamespacedName // Secrets by Proxy

	mu      sync.RWMutex
	entries map[types.NamespacedName]*entry
	byUID   map[string]*entry
	unread  map[types.NamespacedName]string // UIDs of Proxies that are there and have no entry
	term    *term                           // nil while this process does not lead
	rounds  map[*round]bool

	telling sync.Mutex // one call of the store that changes proxies at a time
}

// entry is one Proxy. Its fields change together, under Roster.mu.
type entry struct {
	key     types.NamespacedName
	offer   *offer.Offer
	probe   health.Proxy
	probed  bool
	drained bool // no new leases, whatever the offer says
}

// item is what is to be looked at.
type item struct {
	kind kind
	key  types.NamespacedName
}

type kind int

const (
	ofProxy kind = iota
	ofSecret
	ofStore // tell it again what it could not be told
)

// Pauses after failures: doubled from the first up to the last.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 30 * time.Second
	// callTime bounds each call of Objects and of the store.
	callTime = 10 * time.Second
)

// New returns a Roster that knows nothing yet.
func New(o Options) *Roster {
	return &Roster{
		Options: o, secrets: map[types.NamespacedName]*secret{}, usedBy: map[types.NamespacedName][]types.NamespacedName{}, entries: map[types.NamespacedName]*entry{},
		byUID: map[string]*entry{}, unread: map[types.NamespacedName]string{}, rounds: map[*round]bool{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](firstPause, lastPause)),
	}
}

// Touch tells that a Proxy has changed, begun or gone.
func (r *Roster) Touch(key types.NamespacedName) { r.queue.Add(item{ofProxy, key}) }

// SecretChanged tells that a Secret has changed, begun or gone.
func (r *Roster) SecretChanged(key types.NamespacedName) { r.queue.Add(item{ofSecret, key}) }

// Errors of Serving.
var (
	// ErrStarting means that not all Proxies are known yet.
	ErrStarting = errors.New("the Proxies have not been read yet")
	// ErrNotTold means that this process leads and has not told the store all yet.
	ErrNotTold = errors.New("the leases are being taken over")
)

// Run follows events until ctx ends.
func (r *Roster) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	defer r.queue.ShutDown()
	working.Go(func() {
		for r.next(ctx) {
		}
	})
	select {
	case <-ctx.Done():
		return
	case <-r.Ready:
	}
	if r.round(ctx) == nil {
		r.complete.Store(true)
	}
	<-ctx.Done()
}

// next handles one item. It returns false when there are no more.
func (r *Roster) next(ctx context.Context) bool {
	i, over := r.queue.Get()
	if over {
		return false
	}
	defer r.queue.Done(i)
	if ctx.Err() != nil {
		return true
	}
	if r.handle(ctx, i) {
		r.queue.Forget(i)
	} else {
		r.queue.AddRateLimited(i)
	}
	return true
}

func (r *Roster) handle(ctx context.Context, i item) (done bool) {
	switch i.kind {
	case ofSecret:
		return r.secretChanged(ctx, i.key)
	case ofStore:
		return r.tellAll(ctx)
	case ofProxy:
	}
	n := r.started.Add(1)
	defer r.handled(i.key, n)
	return r.proxyChanged(ctx, i.key)
}

// Serving returns why leases cannot be granted by what is known here, nil if they can.
func (r *Roster) Serving() error {
	if !r.complete.Load() {
		return ErrStarting
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.term != nil && !r.term.settled {
		return ErrNotTold
	}
	return nil
}

// Leads says whether this process tells the store now.
func (r *Roster) Leads() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.term != nil
}
