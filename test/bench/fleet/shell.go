package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// workers is as many as the shell over an API server has.
const workers = 3

// shell calls a reconciler as shells do: for what has changed, after the time that a
// result names, and after growing pauses for an error.
type shell struct {
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	r     *reconcile.Reconciler
	wg    sync.WaitGroup
}

func newShell() *shell {
	return &shell{queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](time.Second, 5*time.Minute),
	)}
}

// start works until stop.
func (s *shell) start(ctx context.Context) {
	for range workers {
		s.wg.Go(func() {
			for s.next(ctx) {
			}
		})
	}
}

func (s *shell) next(ctx context.Context) bool {
	key, down := s.queue.Get()
	if down {
		return false
	}
	defer s.queue.Done(key)
	result, err := s.r.Reconcile(ctx, key)
	switch {
	case err != nil:
		s.queue.AddRateLimited(key)
	case result.After > 0:
		s.queue.Forget(key)
		s.queue.AddAfter(key, result.After)
	default:
		s.queue.Forget(key)
	}
	return true
}

func (s *shell) stop() {
	s.queue.ShutDown()
	s.wg.Wait()
}
