package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
)

// feed brings the objects of a resource into a sink.
type feed[T runtime.Object] struct {
	resource
	state *feedState
	sink  sink[T]
}

// sink takes the changes of a feed. It implements [cache.TransformingStore], and keeps
// nothing.
type sink[T runtime.Object] struct {
	set, remove func(T)
	replace     func([]T)
	strip       func(T)
	// listing is called before a complete list is taken, and listed after it.
	listing, listed func()
}

// Waits after failures, up to twice as long by jitter: an API that comes back is noticed.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 5 * time.Second
)

func retry() *wait.Backoff {
	return &wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: 1, Steps: 10, Cap: lastRetry}
}

// run feeds until ctx ends. Objects are not listed again but after a failure.
func (f *feed[T]) run(ctx context.Context) {
	silent := logr.Discard() // the state of the feed tells what failed
	var example T
	reflector := cache.NewReflectorWithOptions(f, example, f.sink, cache.ReflectorOptions{
		Logger: &silent, Name: f.state.what, TypeDescription: f.state.what, Backoff: retry(), Clock: kubeapi.Clock(ctx),
	})
	reflector.RunWithContext(klog.NewContext(ctx, silent))
}

// List implements [cache.ListerWatcher]; the reflector prefers ListWithContext.
func (f *feed[T]) List(o meta_v1.ListOptions) (runtime.Object, error) {
	return f.ListWithContext(context.Background(), o)
}

// Watch implements [cache.ListerWatcher]; the reflector prefers WatchWithContext.
func (f *feed[T]) Watch(o meta_v1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(context.Background(), o)
}

// ListWithContext implements [cache.ListerWithContext].
func (f *feed[T]) ListWithContext(ctx context.Context, o meta_v1.ListOptions) (runtime.Object, error) {
	all, err := f.list(ctx, o)
	f.state.answered(ctx, err)
	return all, err
}

// WatchWithContext implements [cache.WatcherWithContext].
func (f *feed[T]) WatchWithContext(ctx context.Context, o meta_v1.ListOptions) (watch.Interface, error) {
	w, err := f.watch(ctx, o)
	f.state.answered(ctx, err)
	return w, err
}

// Add implements [cache.ReflectorStore].
func (s sink[T]) Add(o any) error { return s.Update(o) }

// Update implements [cache.ReflectorStore].
func (s sink[T]) Update(o any) error {
	s.strip(o.(T))
	s.set(o.(T))
	return nil
}

// Delete implements [cache.ReflectorStore].
func (s sink[T]) Delete(o any) error {
	s.remove(o.(T))
	return nil
}

// Replace implements [cache.ReflectorStore].
func (s sink[T]) Replace(all []any, _ string) error {
	typed := make([]T, 0, len(all))
	for _, o := range all {
		typed = append(typed, o.(T))
	}
	s.listing()
	s.replace(typed)
	s.listed()
	return nil
}

// Resync implements [cache.ReflectorStore]; what was told once is known.
func (s sink[T]) Resync() error { return nil }

// Transformer implements [cache.TransformingStore]: objects are stripped as they arrive.
func (s sink[T]) Transformer() cache.TransformFunc {
	return func(o any) (any, error) {
		typed, ok := o.(T)
		if !ok {
			return nil, fmt.Errorf("the API sent a %T", o)
		}
		s.strip(typed)
		return o, nil
	}
}

func stripService(s *core_v1.Service) {
	s.ObjectMeta = stripped(s.ObjectMeta)
	s.Status = core_v1.ServiceStatus{}
}

func stripSlice(s *discovery_v1.EndpointSlice) {
	s.ObjectMeta = stripped(s.ObjectMeta)
	for i, e := range s.Endpoints {
		s.Endpoints[i] = discovery_v1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions}
	}
}

// stripped keeps what the index reads, and what the reflector does.
func stripped(m meta_v1.ObjectMeta) meta_v1.ObjectMeta {
	return meta_v1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, Labels: m.Labels,
		ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp,
	}
}
