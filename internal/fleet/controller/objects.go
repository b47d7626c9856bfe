package controller

import (
	"context"
	"sync"
	"time"

	core_v1 "k8s.io/api/core/v1"
	api_errors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// callTime bounds each call to the API.
const callTime = 15 * time.Second

// objects implements [reconcile.Objects].
type objects struct {
	cached client.Client
	live   client.Reader
	fence  func() error
	// namespaces are those whose Proxies count; one that is empty is all.
	namespaces []string

	// written has the version of what was written last and is perhaps not cached yet. The
	// client's own consistency does not work with several namespaces.
	mu      sync.Mutex
	written map[types.NamespacedName]string
}

// Proxy reads the cache, and past it while that has not seen our own last write.
func (o *objects) Proxy(ctx context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error) {
	p := new(egress_v1alpha1.Proxy)
	err := o.cached.Get(ctx, key, p)
	switch {
	case api_errors.IsNotFound(err):
		o.forget(key)
		return nil, reconcile.ErrNoObject
	case err != nil:
		return nil, err
	case o.behind(key, p.ResourceVersion):
		return o.Current(ctx, key)
	}
	return p, nil
}

// Current implements [reconcile.Objects].
func (o *objects) Current(ctx context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error) {
	p := new(egress_v1alpha1.Proxy)
	return p, o.get(ctx, key, p)
}

// Secret implements [reconcile.Objects].
func (o *objects) Secret(ctx context.Context, key types.NamespacedName) (*core_v1.Secret, error) {
	s := new(core_v1.Secret)
	return s, o.get(ctx, key, s)
}

func (o *objects) get(ctx context.Context, key types.NamespacedName, into client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := o.live.Get(ctx, key, into)
	if api_errors.IsNotFound(err) {
		return reconcile.ErrNoObject
	}
	return err
}

// Proxies implements [reconcile.Objects].
func (o *objects) Proxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error) {
	var list egress_v1alpha1.ProxyList
	if err := o.cached.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func pointers(all []egress_v1alpha1.Proxy) []*egress_v1alpha1.Proxy {
	out := make([]*egress_v1alpha1.Proxy, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}

// pageSize bounds one answer of the API server.
const pageSize = 500

// CurrentProxies reads all Proxies past the cache, or returns an error. A namespace that
// is missing has none.
func (o *objects) CurrentProxies(ctx context.Context) (all []*egress_v1alpha1.Proxy, err error) {
	for _, namespace := range o.namespaces {
		next := ""
		for {
			var page egress_v1alpha1.ProxyList
			if err := o.page(ctx, &page, namespace, next); err != nil {
				return nil, err
			}
			all = append(all, pointers(page.Items)...)
			if next = page.Continue; next == "" {
				break
			}
		}
	}
	return all, nil
}

func (o *objects) page(ctx context.Context, into *egress_v1alpha1.ProxyList, namespace, next string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return o.live.List(ctx, into, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))
}

// wrote remembers a version.
func (o *objects) wrote(key types.NamespacedName, version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written == nil {
		o.written = make(map[types.NamespacedName]string)
	}
	o.written[key] = version
}

func (o *objects) forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.written, key)
}

// behind tells whether a version is older than what was written last.
func (o *objects) behind(key types.NamespacedName, version string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, ok := o.written[key]
	if !ok {
		return false
	}
	if order, err := resourceversion.CompareResourceVersion(version, last); err != nil || order < 0 {
		return true
	}
	delete(o.written, key)
	return false
}
