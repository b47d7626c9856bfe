package roster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	core_v1 "k8s.io/api/core/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/health"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

var errAway = errors.New("it does not answer")

// objects are Proxies and Secrets in memory, whose reads are counted and may fail.
type objects struct {
	mu         sync.Mutex
	proxies    map[types.NamespacedName]*proxy
	secrets    map[types.NamespacedName]*core_v1.Secret
	unreadable bool // Secrets are
	calls      map[string]int
}

func (o *objects) called(name string) *objects {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls[name]++
	return o
}

func (o *objects) Proxy(_ context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error) {
	o.called("proxy").mu.Lock()
	defer o.mu.Unlock()
	if p := o.proxies[key]; p != nil {
		return p.DeepCopy(), nil
	}
	return nil, reconcile.ErrNoObject
}

func (o *objects) Proxies(context.Context) (all []*egress_v1alpha1.Proxy, err error) {
	o.called("proxies").mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.proxies {
		all = append(all, p)
	}
	return all, nil
}

func (o *objects) Secret(_ context.Context, key types.NamespacedName) (*core_v1.Secret, error) {
	o.called("secret").mu.Lock()
	defer o.mu.Unlock()
	switch s := o.secrets[key]; {
	case o.unreadable:
		return nil, errAway
	case s != nil:
		return s.DeepCopy(), nil
	}
	return nil, reconcile.ErrNoObject
}

// faulty is a store that may be away, and whose calls are counted.
type faulty struct {
	*lease.Memory
	mu    sync.Mutex
	away  bool
	calls map[string]int
}

func (f *faulty) call(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[name]++
	if f.away {
		return fmt.Errorf("%w: %w", lease.ErrUnavailable, errAway)
	}
	return nil
}

func (f *faulty) Set(ctx context.Context, p lease.Proxy) error {
	if err := f.call("set"); err != nil {
		return err
	}
	return f.Memory.Set(ctx, p)
}

func (f *faulty) Remove(ctx context.Context, uid string) error {
	if err := f.call("remove"); err != nil {
		return err
	}
	return f.Memory.Remove(ctx, uid)
}

func (f *faulty) Use(ctx context.Context, uid string) (lease.Use, error) {
	if err := f.call("use"); err != nil {
		return lease.Use{}, err
	}
	return f.Memory.Use(ctx, uid)
}

func (f *faulty) Retain(ctx context.Context, keep func(string) bool) error {
	if err := f.call("retain"); err != nil {
		return err
	}
	return f.Memory.Retain(ctx, keep)
}

func (f *faulty) goes(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

// world is a Roster that leads over objects and a store, in synthetic time.
type world struct {
	t       *testing.T
	objects *objects
	store   *faulty
	roster  *Roster
	engine  *health.Engine
	resign  func() // ends the term
	probed  func(health.Proxy) health.Result
}

func in(t *testing.T, do func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t:       t,
			objects: &objects{proxies: map[types.NamespacedName]*proxy{}, secrets: map[types.NamespacedName]*core_v1.Secret{}, calls: map[string]int{}},
			store:   &faulty{Memory: lease.NewMemory(lease.Options{}), calls: map[string]int{}},
			probed:  func(health.Proxy) health.Result { return health.Result{Class: health.OK} },
		}
		ready := make(chan struct{})
		close(ready)
		w.roster = New(Options{Objects: w.objects, Ready: ready, Log: slog.New(slog.DiscardHandler), Now: time.Now})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.roster.Run(ctx) })
		defer func() {
			if w.resign != nil {
				w.resign()
			}
			cancel()
			running.Wait()
		}()
		do(w)
	})
}

// lead begins a term.
func (w *world) lead() {
	w.t.Helper()
	w.engine = health.New(health.Options{
		Emit: func(string) bool { return true }, Probe: func(_ context.Context, p health.Proxy) health.Result { return w.probed(p) },
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	var leading sync.WaitGroup
	leading.Go(func() { w.roster.Lead(ctx, w.store, w.engine) })
	w.resign = func() { cancel(); leading.Wait(); w.resign = nil }
	synctest.Wait()
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "crawl", Name: name}
}

// external is a Proxy of the name, healthy, with a capacity of one.
func external(name, uid string) *proxy {
	return &proxy{
		Namespace: "crawl", Name: name, UID: types.UID(uid), Generation: 1,
		Spec: egress_v1alpha1.ProxySpec{
			Mode: egress_v1alpha1.External, Endpoint: &egress_v1alpha1.Endpoint{Host: "192.0.2.1", Port: 3128},
			Capacity: &egress_v1alpha1.Capacity{MaxLeases: 1},
		},
		Status: egress_v1alpha1.ProxyStatus{IP: "192.0.2.1", Conditions: []meta_v1.Condition{
			{Type: egress_v1alpha1.Provisioned, Status: meta_v1.ConditionTrue}, {Type: egress_v1alpha1.Healthy, Status: meta_v1.ConditionTrue},
		}},
	}
}

// with names a Secret.
func with(p *proxy, secret string) *proxy {
	p.Spec.Auth = &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: secret}}
	return p
}

// put is an event; nil deletes.
func (w *world) put(name string, p *proxy) {
	w.objects.mu.Lock()
	if w.objects.proxies[key(name)] = p; p == nil {
		delete(w.objects.proxies, key(name))
	}
	w.objects.mu.Unlock()
	w.roster.Touch(key(name))
	synctest.Wait()
}

// keep is an event of a Secret with a user name; an empty one deletes.
func (w *world) keep(name, user string) {
	w.objects.mu.Lock()
	w.objects.secrets[key(name)] = &core_v1.Secret{Data: map[string][]byte{"username": []byte(user), "password": []byte("p")}}
	if user == "" {
		delete(w.objects.secrets, key(name))
	}
	w.objects.mu.Unlock()
	w.roster.SecretChanged(key(name))
	synctest.Wait()
}

func (w *world) acquire() (lease.Lease, error) {
	return w.store.Acquire(w.t.Context(), lease.Request{TTL: time.Hour})
}

// granted is a lease that must be had.
func (w *world) granted() lease.Lease {
	w.t.Helper()
	l, err := w.acquire()
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// refused says how many match where none can be had.
func (w *world) refused() int {
	w.t.Helper()
	_, err := w.acquire()
	none, ok := errors.AsType[*lease.NoMatchError](err)
	if !ok {
		w.t.Fatalf("granted: %v", err)
	}
	return none.Considered
}

// counted returns the calls since the last time.
func (w *world) counted() map[string]int {
	w.objects.mu.Lock()
	defer w.objects.mu.Unlock()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	out := maps.Clone(w.objects.calls)
	maps.Copy(out, w.store.calls)
	clear(w.objects.calls)
	clear(w.store.calls)
	return out
}
