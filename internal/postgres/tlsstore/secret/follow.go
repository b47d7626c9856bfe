package secret

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/kubeapi"
)

// follower keeps what the API last said of the Secret. It is what client-go's Reflector
// lists and watches through, and the store that it fills.
type follower struct {
	*api
	news chan struct{} // has room for one: something changed

	mu   sync.Mutex
	last state
}

// state is what is known of the Secret.
type state struct {
	// known tells that the API has answered once; secret is nil if there was none then.
	known  bool
	secret *core_v1.Secret
	// away is why the API does not answer now; nil if it does.
	away error
}

func newFollower(config *rest.Config, namespace, name string) (f *follower, err error) {
	f = &follower{news: make(chan struct{}, 1)}
	f.api, err = newAPI(config, namespace, name, f.heard)
	return f, err
}

// now is what is known. The Secret in it must not be changed.
func (f *follower) now() state {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// change tells whoever waits for news, unless there is none: another error is none.
func (f *follower) change(by func(*state)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.last
	by(&f.last)
	if f.last.known == before.known && f.last.secret == before.secret && (f.last.away == nil) == (before.away == nil) {
		return
	}
	select {
	case f.news <- struct{}{}:
	default:
	}
}

func (f *follower) see(secret *core_v1.Secret) {
	f.change(func(s *state) { s.known, s.secret = true, secret })
}

// heard takes whether the API answers.
func (f *follower) heard(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.change(func(s *state) { s.away = cause(err) })
	}
}

// failed takes why a request failed. That a watch is too old to go on is no failure.
func (f *follower) failed(ctx context.Context, err error) {
	if err != nil && !api_errors.IsResourceExpired(err) && !api_errors.IsGone(err) {
		f.heard(ctx, err)
	}
}

// run follows until ctx ends. After failures it waits from half a second to ten, so that
// an API that comes back is noticed.
func (f *follower) run(ctx context.Context) {
	silent := logr.Discard() // the state tells what failed
	reflector := cache.NewReflectorWithOptions(f, &core_v1.Secret{}, f, cache.ReflectorOptions{
		Logger: &silent, Name: f.name, Clock: kubeapi.Clock(ctx),
		Backoff: &wait.Backoff{Duration: time.Second / 2, Factor: 2, Jitter: 1, Steps: 10, Cap: 5 * time.Second},
	})
	reflector.RunWithContext(klog.NewContext(ctx, silent))
}

// List implements [cache.Lister].
func (f *follower) List(o meta_v1.ListOptions) (runtime.Object, error) {
	return f.ListWithContext(context.Background(), o)
}

// Watch implements [cache.Watcher].
func (f *follower) Watch(o meta_v1.ListOptions) (watch.Interface, error) {
	return f.WatchWithContext(context.Background(), o)
}

// ListWithContext implements [cache.ListerWithContext].
func (f *follower) ListWithContext(ctx context.Context, o meta_v1.ListOptions) (runtime.Object, error) {
	all, err := f.list(ctx, o)
	f.failed(ctx, err)
	return all, err
}

// WatchWithContext implements [cache.WatcherWithContext].
func (f *follower) WatchWithContext(ctx context.Context, o meta_v1.ListOptions) (watch.Interface, error) {
	w, err := f.watch(ctx, o)
	f.failed(ctx, err)
	return w, err
}

// Add implements [cache.ReflectorStore].
func (f *follower) Add(o any) error { return f.Update(o) }

// Update implements [cache.ReflectorStore].
func (f *follower) Update(o any) error {
	f.see(o.(*core_v1.Secret))
	return nil
}

// Delete implements [cache.ReflectorStore].
func (f *follower) Delete(any) error {
	f.see(nil)
	return nil
}

// Replace implements [cache.ReflectorStore].
func (f *follower) Replace(all []any, _ string) error {
	if len(all) == 0 {
		return f.Delete(nil)
	}
	return f.Update(all[0])
}

// Resync implements [cache.ReflectorStore]; what was told once is known.
func (f *follower) Resync() error { return nil }
