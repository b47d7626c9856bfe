package standalone

import (
	"context"
	"fmt"
	"sync"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/standalone/state"
)

// Objects are the Proxies of a state directory and the Secrets of documents, which are
// kept in memory only.
type Objects struct {
	*state.Store

	secretChanged func(types.NamespacedName)

	mu      sync.RWMutex
	secrets map[types.NamespacedName]*core_v1.Secret
}

var _ reconcile.Objects = (*Objects)(nil)

// NewObjects returns Objects without a Secret yet.
func NewObjects(s *state.Store) *Objects {
	return &Objects{Store: s, secrets: map[types.NamespacedName]*core_v1.Secret{}, secretChanged: func(types.NamespacedName) {}}
}

// Watch has proxy and secret called after each change of one. It is called before
// anything changes, and both return soon.
func (o *Objects) Watch(proxy, secret func(types.NamespacedName)) {
	o.Store.Watch(proxy)
	o.secretChanged = secret
}

// Secret implements [reconcile.Objects].
func (o *Objects) Secret(_ context.Context, key types.NamespacedName) (*core_v1.Secret, error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	s := o.secrets[key]
	if s == nil {
		return nil, fmt.Errorf("Secret %s: %w", key, reconcile.ErrNoObject)
	}
	return s.DeepCopy(), nil
}

// setSecret puts a Secret in the place of the earlier one; nil removes it.
func (o *Objects) setSecret(key types.NamespacedName, s *core_v1.Secret) {
	o.keepSecret(key, s)
	o.secretChanged(key)
}

func (o *Objects) keepSecret(key types.NamespacedName, s *core_v1.Secret) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s == nil {
		delete(o.secrets, key)
	} else {
		o.secrets[key] = s
	}
}
