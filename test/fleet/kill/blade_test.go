package kill_test

import (
	"context"
	"runtime"
	"sync"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/gc"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// blade lets a process make so many calls to the world outside, and ends it then: the
// goroutine that would make the next one goes no further, and neither does any other.
// To end before a call and to end after the one before it are the same to the world, so
// that the numbers from 0 to all calls are all the places there are.
type blade struct {
	mu    sync.Mutex
	left  int // calls, or below zero for any number
	fell  bool
	calls []string
	// after, if set, is told of each call that was made.
	after func(call string)
}

// pass notes a call, and makes it unless the blade falls.
func (b *blade) pass(call string, do func()) {
	b.mu.Lock()
	if b.fell || b.left == 0 {
		b.fell = true
		b.mu.Unlock()
		runtime.Goexit()
	}
	b.left--
	b.calls = append(b.calls, call)
	b.mu.Unlock()
	do()
	if b.after != nil {
		b.after(call)
	}
}

// objects is all that a fleet asks of where Proxies are kept.
type objects interface {
	reconcile.Objects
	gc.Objects
}

// cutObjects counts the calls of a store.
type cutObjects struct {
	objects
	*blade
}

func (c cutObjects) Proxy(ctx context.Context, key types.NamespacedName) (p *egress_v1alpha1.Proxy, err error) {
	c.pass("proxy", func() { p, err = c.objects.Proxy(ctx, key) })
	return p, err
}

func (c cutObjects) Current(ctx context.Context, key types.NamespacedName) (p *egress_v1alpha1.Proxy, err error) {
	c.pass("current", func() { p, err = c.objects.Current(ctx, key) })
	return p, err
}

func (c cutObjects) Proxies(ctx context.Context) (all []*egress_v1alpha1.Proxy, err error) {
	c.pass("proxies", func() { all, err = c.objects.Proxies(ctx) })
	return all, err
}

func (c cutObjects) CurrentProxies(ctx context.Context) (all []*egress_v1alpha1.Proxy, err error) {
	c.pass("current proxies", func() { all, err = c.objects.CurrentProxies(ctx) })
	return all, err
}

func (c cutObjects) Secret(ctx context.Context, key types.NamespacedName) (s *core_v1.Secret, err error) {
	c.pass("secret", func() { s, err = c.objects.Secret(ctx, key) })
	return s, err
}

func (c cutObjects) PatchMetadata(ctx context.Context, base, p *egress_v1alpha1.Proxy) (err error) {
	c.pass("patch metadata", func() { err = c.objects.PatchMetadata(ctx, base, p) })
	return err
}

func (c cutObjects) PatchStatus(ctx context.Context, base, p *egress_v1alpha1.Proxy) (err error) {
	c.pass("patch status", func() { err = c.objects.PatchStatus(ctx, base, p) })
	return err
}

// cutProvider counts the calls of a provider, as [cutObjects] does.
type cutProvider struct {
	provider.Provider
	*blade
}

// cut returns p with its calls counted. It tells outcomes of creates if p does.
func (b *blade) cut(p provider.Provider) provider.Provider {
	c := cutProvider{p, b}
	if o, ok := p.(provider.CreateOutcome); ok {
		return tellingProvider{c, o}
	}
	return c
}

func (c cutProvider) Create(ctx context.Context, r provider.CreateRequest) (i provider.Instance, err error) {
	c.pass("create", func() { i, err = c.Provider.Create(ctx, r) })
	return i, err
}

func (c cutProvider) Get(ctx context.Context, id string) (i provider.Instance, err error) {
	c.pass("get", func() { i, err = c.Provider.Get(ctx, id) })
	return i, err
}

func (c cutProvider) Delete(ctx context.Context, id string) (err error) {
	c.pass("delete", func() { err = c.Provider.Delete(ctx, id) })
	return err
}

func (c cutProvider) Find(ctx context.Context, cluster, uid string) (all []provider.Instance, err error) {
	c.pass("find", func() { all, err = c.Provider.Find(ctx, cluster, uid) })
	return all, err
}

func (c cutProvider) ListByTag(ctx context.Context, cluster string) (all []provider.Instance, err error) {
	c.pass("list", func() { all, err = c.Provider.ListByTag(ctx, cluster) })
	return all, err
}

type tellingProvider struct {
	cutProvider
	outcome provider.CreateOutcome
}

func (t tellingProvider) CreateError(ctx context.Context, id, operation string) (err error) {
	t.pass("create error", func() { err = t.outcome.CreateError(ctx, id, operation) })
	return err
}

// stop lets no further call pass.
func (b *blade) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = 0
}
