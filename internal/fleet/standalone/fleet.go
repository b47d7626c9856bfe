package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/internal/source/file"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// Options of a Fleet; all but Began and Workers are required.
type Options struct {
	// Dir is the directory of documents, absolute.
	Dir     string
	Objects *Objects
	// Reconcile takes the next steps of one Proxy, as [reconcile.Reconciler] does.
	Reconcile func(context.Context, types.NamespacedName) (reconcile.Result, error)
	// Providers are the names of those that are on.
	Providers []string
	// AllowMassDelete lets more than half of all Proxies go at once.
	AllowMassDelete bool
	// Began is closed once the documents have been read and stored; nil for nobody.
	Began chan<- struct{}
	// Workers is how many Proxies take steps at once; default 8.
	Workers int
	Log     *slog.Logger
	Now     func() time.Time
}

// Fleet runs the Proxies of a directory.
type Fleet struct {
	Options
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	wake  chan struct{} // of converge; holds one

	mu        sync.Mutex
	documents *documents
	ready     bool                                  // the documents have been read once
	held      decision                              // of the Proxies that are missing
	refused   map[types.NamespacedName]verdict.Step // documents that contradict what is kept
	outcomes  map[types.NamespacedName]outcome      // of the last steps
}

// outcome is what the last steps of a Proxy led to.
type outcome struct {
	next     time.Time // zero: when something changes
	failures int
	err      string
}

// Pauses after failures of one Proxy: doubled from the first up to the last.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 2 * time.Minute
)

// New returns a Fleet that does nothing yet.
func New(o Options) *Fleet {
	if o.Workers == 0 {
		o.Workers = 8
	}
	return &Fleet{
		Options: o, wake: make(chan struct{}, 1), documents: newDocuments(),
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstPause, lastPause)),
		refused: map[types.NamespacedName]verdict.Step{}, outcomes: map[types.NamespacedName]outcome{},
	}
}

// Run watches and works until ctx ends, and then waits for the steps under way. The
// instances stay. Run is called once.
func (f *Fleet) Run(ctx context.Context) error {
	source := file.New(file.Options{Paths: []string{f.Dir}, Validator: newValidator(), Recall: recall{f.Objects.Store, f.Dir}, Log: f.Log, Now: f.Now})
	steps, hurry := context.WithCancel(context.WithoutCancel(ctx))
	defer hurry()
	var working sync.WaitGroup
	defer working.Wait()
	defer f.queue.ShutDown()
	ctx, end := context.WithCancel(ctx)
	defer end() // also of what works beside a source that failed
	working.Go(func() { f.converge(ctx) })
	for range f.Workers {
		working.Go(func() {
			for f.work(ctx, steps) {
			}
		})
	}
	stop := context.AfterFunc(ctx, func() {
		f.queue.ShutDown()
		time.AfterFunc(stepsGrace, hurry)
	})
	defer stop()
	if err := source.Run(ctx, f.observe); err != nil {
		return fmt.Errorf("directory %s cannot be watched: %w", f.Dir, err)
	}
	return nil
}

// Enqueue lets a Proxy take its next steps soon.
func (f *Fleet) Enqueue(key types.NamespacedName) { f.queue.Add(key) }

// Ready returns an error until the documents have been read and stored once.
func (f *Fleet) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ready {
		return errors.New("the documents have not been read yet")
	}
	return nil
}

// observe takes a batch of the source.
func (f *Fleet) observe(b snapshot.Batch) {
	f.mu.Lock()
	secrets, news := f.documents.take(b)
	f.mu.Unlock()
	for _, s := range secrets {
		key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		f.Objects.setSecret(key, s)
		f.enqueueUsers(key)
	}
	f.tell(news)
	f.poke()
}

func (f *Fleet) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// enqueueUsers lets the Proxies that refer to a Secret look at it.
func (f *Fleet) enqueueUsers(secret types.NamespacedName) {
	for _, r := range f.Objects.Records() {
		if needs(r.Proxy, secret) {
			f.queue.Add(types.NamespacedName{Namespace: r.Proxy.Namespace, Name: r.Proxy.Name})
		}
	}
}
