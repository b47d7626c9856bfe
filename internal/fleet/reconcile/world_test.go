package reconcile

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// world is what survives a crash: the objects and the instances. Calls of both are
// counted, and each may be made to fail before or after it was carried out.
type world struct {
	mu        sync.Mutex
	now       time.Time
	version   int
	proxies   map[types.NamespacedName]*proxy
	stale     map[types.NamespacedName]*proxy // what the cache shows instead
	secrets   map[string]map[string][]byte
	instances map[string]*instance
	outcomes  map[string]error // of creates, by operation
	calls     []string
	// fault is asked around each call; what it returns the call returns, and it may panic.
	fault func(call string, after bool) error
}

type instance struct {
	provider.Instance
	zone string
}

func newWorld() *world {
	return &world{
		now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), proxies: map[types.NamespacedName]*proxy{},
		stale: map[types.NamespacedName]*proxy{}, secrets: map[string]map[string][]byte{},
		instances: map[string]*instance{}, outcomes: map[string]error{},
	}
}

// reconciler returns a process that has just started.
func (w *world) reconciler() *Reconciler {
	return &Reconciler{
		Objects: w, Cluster: "c1", Now: func() time.Time { return w.now },
		Providers: map[string]provider.Provider{"gcp": cloud{w}, "process": cloud{w}},
	}
}

// around runs one call between its two faults.
func around[T any](w *world, call string, do func() (T, error)) (T, error) {
	w.mu.Lock()
	w.calls = append(w.calls, call)
	fault := w.fault
	w.mu.Unlock()
	if fault == nil {
		fault = func(string, bool) error { return nil }
	}
	var none T
	if err := fault(call, false); err != nil {
		return none, err
	}
	w.mu.Lock()
	got, err := do()
	w.mu.Unlock()
	if err := fault(call, true); err != nil {
		return none, err
	}
	return got, err
}

func (w *world) read(key types.NamespacedName, cached bool) (*proxy, error) {
	if p := w.stale[key]; cached && p != nil {
		return p.DeepCopy(), nil
	}
	if p := w.proxies[key]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, ErrNoObject
}

func (w *world) Proxy(_ context.Context, key types.NamespacedName) (*proxy, error) {
	return around(w, "proxy", func() (*proxy, error) { return w.read(key, true) })
}

func (w *world) Current(_ context.Context, key types.NamespacedName) (*proxy, error) {
	return around(w, "current", func() (*proxy, error) { return w.read(key, false) })
}

func (w *world) Proxies(context.Context) ([]*proxy, error) {
	return around(w, "proxies", func() (all []*proxy, err error) {
		for key := range w.proxies {
			p, _ := w.read(key, true)
			all = append(all, p)
		}
		return all, nil
	})
}

func (w *world) Secret(_ context.Context, key types.NamespacedName) (*core_v1.Secret, error) {
	return around(w, "secret", func() (*core_v1.Secret, error) {
		data, ok := w.secrets[key.Name]
		if !ok {
			return nil, ErrNoObject
		}
		return &core_v1.Secret{Data: data}, nil
	})
}

func (w *world) PatchMetadata(_ context.Context, base, p *proxy) error {
	_, err := around(w, "patch metadata", func() (int, error) {
		key := keyOf(p)
		now := w.proxies[key]
		if now == nil || now.UID != p.UID {
			return 0, ErrNoObject
		}
		if !slices.Equal(base.Finalizers, p.Finalizers) && base.ResourceVersion != now.ResourceVersion {
			return 0, ErrConflict
		}
		now.Annotations, now.Finalizers = p.DeepCopy().Annotations, slices.Clone(p.Finalizers)
		w.touch(now)
		p.ResourceVersion = now.ResourceVersion
		return 0, nil
	})
	return err
}

func (w *world) PatchStatus(_ context.Context, base, p *proxy) error {
	_, err := around(w, "patch status", func() (int, error) {
		now := w.proxies[keyOf(p)]
		if now == nil || now.UID != p.UID {
			return 0, ErrNoObject
		}
		if equality.Semantic.DeepEqual(base.Status, p.Status) {
			return 0, fmt.Errorf("a write of nothing")
		}
		now.Status = p.DeepCopy().Status
		w.touch(now)
		return 0, nil
	})
	return err
}

// touch gives an object a new version, and ends it if nothing keeps it.
func (w *world) touch(p *proxy) {
	w.version++
	p.ResourceVersion = fmt.Sprint(w.version)
	if p.DeletionTimestamp != nil && len(p.Finalizers) == 0 {
		delete(w.proxies, keyOf(p))
		delete(w.stale, keyOf(p))
	}
}

func keyOf(p *proxy) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// cloud is a provider whose instances take two turns to run and one to go.
type cloud struct{ w *world }

func (c cloud) Create(_ context.Context, r provider.CreateRequest) (provider.Instance, error) {
	return around(c.w, "create "+r.Name, func() (provider.Instance, error) {
		id := r.Zone + "/" + r.Name
		if old := c.w.instances[id]; old != nil {
			if old.State == provider.Terminating {
				return provider.Instance{}, fmt.Errorf("%w: it is being deleted", provider.ErrTransient)
			}
			return old.Instance, nil
		}
		inst := &instance{
			zone: r.Zone,
			ID:   id, Name: r.Name, Cluster: r.Cluster, UID: r.UID, Hash: provider.LabelHash(r.Hash),
			State: provider.Provisioning, CreatedAt: c.w.now, Operation: "op-" + r.UID,
		}
		c.w.instances[id] = inst
		return inst.Instance, nil
	})
}

func (c cloud) Get(_ context.Context, id string) (provider.Instance, error) {
	return around(c.w, "get "+id, func() (provider.Instance, error) {
		if inst := c.w.instances[id]; inst != nil {
			return inst.Instance, nil
		}
		return provider.Instance{}, fmt.Errorf("%s: %w", id, provider.ErrNotFound)
	})
}

func (c cloud) Delete(_ context.Context, id string) error {
	_, err := around(c.w, "delete "+id, func() (int, error) {
		if inst := c.w.instances[id]; inst != nil {
			inst.State = provider.Terminating
		}
		return 0, nil
	})
	return err
}

func (c cloud) Find(_ context.Context, cluster, uid string) ([]provider.Instance, error) {
	return around(c.w, "find "+uid, func() (found []provider.Instance, err error) {
		for _, inst := range c.w.instances {
			if inst.Cluster == cluster && inst.UID == uid {
				found = append(found, inst.Instance)
			}
		}
		slices.SortFunc(found, func(a, b provider.Instance) int { return strings.Compare(a.ID, b.ID) })
		return found, nil
	})
}

func (c cloud) ListByTag(context.Context, string) ([]provider.Instance, error) { return nil, nil }

func (c cloud) CreateError(_ context.Context, _, operation string) error {
	_, err := around(c.w, "ask "+operation, func() (int, error) { return 0, c.w.outcomes[operation] })
	return err
}

// turn lets time pass for instances: what was accepted runs, what was deleted is gone.
func (w *world) turn() {
	for i, id := range slices.Sorted(mapKeys(w.instances)) {
		switch inst := w.instances[id]; inst.State {
		case provider.Provisioning:
			inst.State, inst.IP = provider.Running, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i + 1)})
		case provider.Terminating:
			delete(w.instances, id)
		default:
		}
	}
}

func mapKeys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// add creates a managed Proxy and returns its key.
func (w *world) add(name string, edit ...func(*proxy)) types.NamespacedName {
	w.version++
	p := &proxy{
		Namespace: "crawl", Name: name, UID: types.UID("uid-" + name), Generation: 1, ResourceVersion: fmt.Sprint(w.version),
		Spec: egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.Managed, Provider: "process"},
	}
	for _, e := range edit {
		e(p)
	}
	w.proxies[keyOf(p)] = p
	return keyOf(p)
}

// edit changes a Proxy as its owner would.
func (w *world) edit(key types.NamespacedName, change func(*proxy)) {
	p := w.proxies[key]
	spec := p.DeepCopy().Spec
	change(p)
	if !equality.Semantic.DeepEqual(spec, p.Spec) {
		p.Generation++
	}
	w.touch(p)
}

func (w *world) remove(key types.NamespacedName) {
	w.edit(key, func(p *proxy) { p.DeletionTimestamp = new(meta_v1.NewTime(w.now)) })
}

// live returns the instances of a Proxy that are not on their way out.
func (w *world) live(uid types.UID) (live []*instance) {
	for _, inst := range w.instances {
		if inst.Cluster == "c1" && inst.UID == string(uid) && inst.State != provider.Terminating {
			live = append(live, inst)
		}
	}
	return live
}

// until reconciles and lets time pass until the phase is that, or the object is gone.
func (w *world) until(t *testing.T, r *Reconciler, key types.NamespacedName, phase egress_v1alpha1.Phase) *proxy {
	t.Helper()
	for range 200 {
		after := w.once(t, r, key)
		p := w.proxies[key]
		if p == nil || p.Status.Phase == phase {
			return p
		}
		w.now = w.now.Add(max(after, lifecycle.RequeueNow))
		w.turn()
	}
	t.Fatalf("proxy %s never %s: %+v", key, phase, w.proxies[key].Status)
	return nil
}

func (w *world) once(t *testing.T, r *Reconciler, key types.NamespacedName) time.Duration {
	t.Helper()
	result, err := r.Reconcile(t.Context(), key)
	if err != nil {
		t.Logf("reconcile %s: %v", key, err)
	}
	return result.After
}

// condition sets one of p, without more.
func condition(p *proxy, kind string, is bool) {
	status := meta_v1.ConditionFalse
	if is {
		status = meta_v1.ConditionTrue
	}
	p.Status.Conditions = append(p.Status.Conditions, meta_v1.Condition{Type: kind, Status: status})
}
