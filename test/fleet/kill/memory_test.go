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
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// TestKillInMemory is the fastest, and has every path; the others have real parts.
func TestKillInMemory(t *testing.T) {
	exhaust(t, func(t *testing.T) stage { return newMemory() })
}

// memory is a stage without anything real: a store that does what an API server does,
// and the world that stands for clouds in the contract of providers.
type memory struct {
	clock   time.Time
	world   providertest.Memory
	failing []trouble
	version int
	objects map[types.NamespacedName]*egress_v1alpha1.Proxy
	secrets map[types.NamespacedName]map[string][]byte
}

func newMemory() *memory {
	m := &memory{
		clock:   time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		objects: map[types.NamespacedName]*egress_v1alpha1.Proxy{}, secrets: map[types.NamespacedName]map[string][]byte{},
	}
	m.world.Now = m.now
	return m
}

func (m *memory) open(*testing.T) (objects, provider.Provider) {
	return memoryObjects{m}, m.world.Provider(m.cluster())
}

func (m *memory) cluster() string  { return "0b9a7c52-5f7e-4c8e-9d1b-0c1f2a3b4c5d" }
func (m *memory) now() time.Time   { return m.clock }
func (m *memory) provider() string { return "gcp" }
func (m *memory) zones() []string  { return []string{"a", "b", "c"} }

func (m *memory) spec() egress_v1alpha1.ProxySpec { return machine("a") }

// machine is a spec for clouds.
func machine(zone string) egress_v1alpha1.ProxySpec {
	return egress_v1alpha1.ProxySpec{
		Zone: zone, MachineType: "e2-micro", Image: "projects/debian-cloud/global/images/family/debian-12",
		CloudInit: &egress_v1alpha1.CloudInit{Inline: "#cloud-config\n"},
	}
}

func (m *memory) advance(_ *testing.T, d time.Duration) {
	m.clock = m.clock.Add(d)
	m.world.Advance()
}

func (m *memory) create(_ *testing.T, p *egress_v1alpha1.Proxy) {
	p.UID, p.Generation = types.UID(rand.Text()), 1
	m.objects[keyOf(p)] = m.touch(p)
}

func (m *memory) edit(_ *testing.T, key types.NamespacedName, change func(*egress_v1alpha1.Proxy)) {
	p := m.objects[key].DeepCopy()
	change(p)
	if !equality.Semantic.DeepEqual(p.Spec, m.objects[key].Spec) {
		p.Generation++
	}
	m.objects[key] = m.touch(p)
}

func (m *memory) remove(_ *testing.T, key types.NamespacedName) {
	p := m.objects[key].DeepCopy()
	p.DeletionTimestamp = new(meta_v1.NewTime(m.clock))
	m.keep(p)
}

// keep stores p, unless it is deleted and nothing holds it.
func (m *memory) keep(p *egress_v1alpha1.Proxy) {
	if p.DeletionTimestamp != nil && len(p.Finalizers) == 0 {
		delete(m.objects, keyOf(p))
		return
	}
	m.objects[keyOf(p)] = m.touch(p)
}

func (m *memory) touch(p *egress_v1alpha1.Proxy) *egress_v1alpha1.Proxy {
	m.version++
	p.ResourceVersion = strconv.Itoa(m.version)
	return p
}

func (m *memory) secret(_ *testing.T, key types.NamespacedName, data map[string][]byte) {
	m.secrets[key] = data
}

func (m *memory) proxies(*testing.T) (all []*egress_v1alpha1.Proxy) {
	for _, p := range m.objects {
		all = append(all, p.DeepCopy())
	}
	return all
}

func (m *memory) outside(_ *testing.T, cluster string) provider.Provider {
	return m.world.Provider(cluster)
}

// instances looks past the troubles, which are for everybody.
func (m *memory) instances(t *testing.T, cluster string) []provider.Instance {
	t.Helper()
	if slices.Contains(m.failing, forbids) {
		m.world.Lift(t, providertest.Forbids)
		defer m.world.Inject(t, providertest.Forbids, "")
	}
	all, err := m.world.Provider(cluster).ListByTag(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var faults = map[trouble]providertest.Fault{
	quotaLater: providertest.QuotaLater, forbids: providertest.Forbids, stops: providertest.Stops, vanishes: providertest.Vanishes,
}

func (m *memory) troubles() []trouble { return []trouble{quotaLater, forbids, stops, vanishes} }

func (m *memory) begin(t *testing.T, f trouble, on string) {
	m.failing = append(m.failing, f)
	m.world.Inject(t, faults[f], on)
}

func (m *memory) end(t *testing.T, f trouble) {
	m.failing = slices.DeleteFunc(m.failing, func(g trouble) bool { return f == g })
	m.world.Lift(t, faults[f])
}

func keyOf(p *egress_v1alpha1.Proxy) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// memoryObjects is the store as an operator sees it.
type memoryObjects struct{ *memory }

func (m memoryObjects) Proxy(_ context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error) {
	if p := m.objects[key]; p != nil {
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
