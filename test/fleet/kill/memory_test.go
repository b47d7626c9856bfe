// Package kill_test ends the operator of a fleet at every place where it may be ended,
// lets another one go on, and holds what comes of it to the laws of the fleet: one live
// instance of each kind, nothing without an owner, nobody else's touched.
package kill_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"testing"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// TestKillInMemory is the fastest, and has every path; the others have real parts.
func TestKillInMemory(t *testing.T) { exhaust(t, everyPlace, inMemory) }

func inMemory(*testing.T) *stage {
	c := newClock()
	return &stage{store: newMemoryStore(c), world: newMemoryWorld(c), clock: c}
}

// memoryStore does what an API server does.
type memoryStore struct {
	clock   *clock
	version int
	kept    map[types.NamespacedName]*egress_v1alpha1.Proxy
	secrets map[types.NamespacedName]map[string][]byte
}

func newMemoryStore(c *clock) *memoryStore {
	return &memoryStore{
		clock: c, kept: map[types.NamespacedName]*egress_v1alpha1.Proxy{}, secrets: map[types.NamespacedName]map[string][]byte{},
	}
}

func (m *memoryStore) objects(*testing.T) objects { return memoryObjects{m} }
func (m *memoryStore) cluster() string            { return "0b9a7c52-5f7e-4c8e-9d1b-0c1f2a3b4c5d" }

func (m *memoryStore) create(_ *testing.T, p *egress_v1alpha1.Proxy) {
	p.UID, p.Generation = types.UID(rand.Text()), 1
	m.kept[keyOf(p)] = m.touch(p)
}

func (m *memoryStore) edit(_ *testing.T, key types.NamespacedName, change func(*egress_v1alpha1.Proxy)) {
	p := m.kept[key].DeepCopy()
	change(p)
	if !sameSpec(p, m.kept[key]) {
		p.Generation++
	}
	m.kept[key] = m.touch(p)
}

func (m *memoryStore) remove(_ *testing.T, key types.NamespacedName) {
	p := m.kept[key].DeepCopy()
	p.DeletionTimestamp = new(meta_v1.NewTime(m.clock.now()))
	m.keep(p)
}

// keep stores p, unless it is deleted and nothing holds it.
func (m *memoryStore) keep(p *egress_v1alpha1.Proxy) {
	if p.DeletionTimestamp != nil && len(p.Finalizers) == 0 {
		delete(m.kept, keyOf(p))
		return
	}
	m.kept[keyOf(p)] = m.touch(p)
}

func (m *memoryStore) touch(p *egress_v1alpha1.Proxy) *egress_v1alpha1.Proxy {
	m.version++
	p.ResourceVersion = strconv.Itoa(m.version)
	return p
}

func (m *memoryStore) secret(_ *testing.T, key types.NamespacedName, data map[string][]byte) {
	m.secrets[key] = data
}

func (m *memoryStore) proxies(*testing.T) (all []*egress_v1alpha1.Proxy) {
	for _, p := range m.kept {
		all = append(all, p.DeepCopy())
	}
	return all
}

func sameSpec(a, b *egress_v1alpha1.Proxy) bool { return equality.Semantic.DeepEqual(a.Spec, b.Spec) }

func keyOf(p *egress_v1alpha1.Proxy) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// memoryObjects is the store as an operator sees it.
type memoryObjects struct{ *memoryStore }

func (m memoryObjects) Proxy(_ context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error) {
	if p := m.kept[key]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, fmt.Errorf("%s: %w", key, reconcile.ErrNoObject)
}

func (m memoryObjects) Current(ctx context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error) {
	return m.Proxy(ctx, key)
}

func (m memoryObjects) Proxies(context.Context) ([]*egress_v1alpha1.Proxy, error) {
	return m.proxies(nil), nil
}

func (m memoryObjects) CurrentProxies(context.Context) ([]*egress_v1alpha1.Proxy, error) {
	return m.proxies(nil), nil
}

func (m memoryObjects) Secret(_ context.Context, key types.NamespacedName) (*core_v1.Secret, error) {
	if data, ok := m.secrets[key]; ok {
		return &core_v1.Secret{Namespace: key.Namespace, Name: key.Name, Data: data}, nil
	}
	return nil, fmt.Errorf("%s: %w", key, reconcile.ErrNoObject)
}

func (m memoryObjects) PatchMetadata(ctx context.Context, base, p *egress_v1alpha1.Proxy) error {
	stored, err := m.Proxy(ctx, keyOf(p))
	if err != nil {
		return err
	}
	if !slices.Equal(base.Finalizers, p.Finalizers) && base.ResourceVersion != stored.ResourceVersion {
		return reconcile.ErrConflict
	}
	stored.Annotations, stored.Finalizers = p.DeepCopy().Annotations, slices.Clone(p.Finalizers)
	m.keep(stored)
	p.ResourceVersion = stored.ResourceVersion
	return nil
}

func (m memoryObjects) PatchStatus(ctx context.Context, _, p *egress_v1alpha1.Proxy) error {
	stored, err := m.Proxy(ctx, keyOf(p))
	if err != nil {
		return err
	}
	p.DeepCopy().Status.DeepCopyInto(&stored.Status)
	m.keep(stored)
	return nil
}
