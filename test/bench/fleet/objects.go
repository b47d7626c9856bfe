package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

type proxy = egress_v1alpha1.Proxy

// objects keeps Proxies in memory and tells of each change, as an API server would.
type objects struct {
	changed func(types.NamespacedName)

	mu      sync.Mutex
	proxies map[types.NamespacedName]*proxy
	version int
	writes  int // of statuses
}

func (o *objects) add(p *proxy) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version++
	p.ResourceVersion = fmt.Sprint(o.version)
	o.proxies[keyOf(p)] = p
}

func keyOf(p *proxy) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// Proxy implements [reconcile.Objects].
func (o *objects) Proxy(_ context.Context, key types.NamespacedName) (*proxy, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.proxies[key]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, reconcile.ErrNoObject
}

// Current implements [reconcile.Objects].
func (o *objects) Current(ctx context.Context, key types.NamespacedName) (*proxy, error) {
	return o.Proxy(ctx, key)
}

// Proxies implements [reconcile.Objects].
func (o *objects) Proxies(context.Context) ([]*proxy, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.proxies)), nil
}

// Secret implements [reconcile.Objects]; there is none.
func (*objects) Secret(context.Context, types.NamespacedName) (*core_v1.Secret, error) {
	return nil, reconcile.ErrNoObject
}

// PatchMetadata implements [reconcile.Objects].
func (o *objects) PatchMetadata(_ context.Context, _, p *proxy) error {
	return o.write(p, func(to *proxy) { to.Annotations, to.Finalizers = maps.Clone(p.Annotations), slices.Clone(p.Finalizers) })
}

// PatchStatus implements [reconcile.Objects].
func (o *objects) PatchStatus(_ context.Context, _, p *proxy) error {
	return o.write(p, func(to *proxy) {
		to.Status = *p.Status.DeepCopy()
		o.writes++
	})
}

func (o *objects) write(p *proxy, change func(*proxy)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.proxies[keyOf(p)]
	if old == nil {
		return reconcile.ErrNoObject
	}
	to := old.DeepCopy()
	change(to)
	o.version++
	to.ResourceVersion = fmt.Sprint(o.version)
	p.ResourceVersion = to.ResourceVersion
	o.proxies[keyOf(p)] = to
	o.changed(keyOf(p))
	return nil
}

// phases counts the Proxies by phase.
func (o *objects) phases() map[egress_v1alpha1.Phase]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[egress_v1alpha1.Phase]int{}
	for _, p := range o.proxies {
		out[p.Status.Phase]++
	}
	return out
}

func (o *objects) statusWrites() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writes
}
