package controller

import (
	"context"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	tools_cache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
)

// Workers is how many Proxies are reconciled at once.
const Workers = 3

// Pauses after failures: exponential for one Proxy, and a rate for all together.
const (
	firstRetry = 200 * time.Millisecond
	lastRetry  = 5 * time.Minute
	retryRate  = 50
	retryBurst = 500
)

// work reconciles until ctx ends, and returns when nothing is under way any more.
func (c *Controller) work(ctx context.Context, w Work) error {
	run, err := controller.NewUnmanaged("proxy", controller.Options{
		Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			return c.reconcile(ctx, r, w)
		}),
		MaxConcurrentReconciles: Workers,
		RateLimiter:             retries(),
		SkipNameValidation:      new(true), // each term has one of its own
		Logger:                  logger(c.o.Log),
	})
	if err != nil {
		return err
	}
	for _, s := range c.sources(ctx) {
		if err := run.Watch(s); err != nil {
			return err
		}
	}
	return run.Start(ctx)
}

// sources are what makes a Proxy due. No predicate on the generation: the write of a
// finalizer does not change it, and must be followed by the next pass.
func (c *Controller) sources(ctx context.Context) []source.Source {
	term := termCache{c.cluster.GetCache(), ctx}
	sources := []source.Source{
		source.Kind(term, &egress_v1alpha1.Proxy{}, &handler.TypedEnqueueRequestForObject[*egress_v1alpha1.Proxy]{}),
		source.Kind(term, secretMetadata(), handler.TypedEnqueueRequestsFromMapFunc(c.proxiesForSecret)),
	}
	if c.o.Health != nil {
		sources = append(sources, source.Channel(events(ctx, c.o.Health), handler.TypedFuncs[types.NamespacedName, reconcile.Request]{
			GenericFunc: func(_ context.Context, e event.TypedGenericEvent[types.NamespacedName], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				q.Add(reconcile.Request{NamespacedName: e.Object})
			},
		}))
	}
	return sources
}

// events passes keys on until ctx ends.
func events(ctx context.Context, keys <-chan types.NamespacedName) <-chan event.TypedGenericEvent[types.NamespacedName] {
	out := make(chan event.TypedGenericEvent[types.NamespacedName])
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case key := <-keys:
				select {
				case out <- event.TypedGenericEvent[types.NamespacedName]{Object: key}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

func (c *Controller) reconcile(ctx context.Context, r reconcile.Request, w Work) (reconcile.Result, error) {
	if err := c.lease.check(); err != nil {
		return reconcile.Result{}, err
	}
	result, err := w.Reconcile(ctx, r.NamespacedName)
	after := spread(result.After)
	c.outcomes.note(r.NamespacedName, after, err)
	return reconcile.Result{RequeueAfter: after}, err
}

// spread adds up to a tenth, so that what was asked at once is not asked at once again.
func spread(after time.Duration) time.Duration {
	if after < time.Second {
		return after
	}
	return after + rand.N(after/10)
}

func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		&workqueue.TypedBucketRateLimiter[reconcile.Request]{Limiter: rate.NewLimiter(retryRate, retryBurst)},
	)
}

// termCache takes back, when a term ends, what its sources have registered.
type termCache struct {
	cache.Cache
	term context.Context //nolint:containedctx // it is what the registrations belong to
}

// GetInformer returns one whose handlers end with the term.
func (t termCache) GetInformer(ctx context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	i, err := t.Cache.GetInformer(ctx, o, options...)
	return termInformer{i, t.term}, err
}

type termInformer struct {
	cache.Informer
	term context.Context //nolint:containedctx // it is what the registrations belong to
}

// AddEventHandlerWithOptions registers a handler until the term ends.
func (t termInformer) AddEventHandlerWithOptions(h tools_cache.ResourceEventHandler, o tools_cache.HandlerOptions) (tools_cache.ResourceEventHandlerRegistration, error) {
	r, err := t.Informer.AddEventHandlerWithOptions(h, o)
	if err == nil {
		context.AfterFunc(t.term, func() { _ = t.RemoveEventHandler(r) })
	}
	return r, err
}
