// Package controller_test runs the fleet's controller, and the real binary, over a real
// API server.
package controller_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/config/crd"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/controller"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := cluster.EndShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if programs != "" {
		_ = os.RemoveAll(programs)
	}
	os.Exit(code)
}

// eventually is more than what a busy machine needs.
const eventually = time.Minute

// until waits until check returns nil.
func until(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	cluster.Until(t, eventually, what, check)
}

// lab is a cluster that knows Proxies, a namespace of it, and an administrator.
type lab struct {
	*cluster.Cluster
	client.Client
	ns string
}

func newLab(t *testing.T, c *cluster.Cluster) lab {
	t.Helper()
	c.Define(t, definition(t))
	return lab{c, administrator(t, c), c.Namespace(t)}
}

func definition(t *testing.T) []byte {
	t.Helper()
	d, err := crd.Read(crd.Standard, egress_v1alpha1.Group, "proxies")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func administrator(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, egress_v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := client.New(c.Config(), client.Options{Scheme: s})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// create makes an object in the lab's namespace.
func (l lab) create(t *testing.T, o client.Object) {
	t.Helper()
	o.SetNamespace(l.ns)
	if err := l.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// in is an object of the lab's namespace.
func (l lab) in(o client.Object) client.Object {
	o.SetNamespace(l.ns)
	return o
}

// edit changes a Proxy, whoever else does so.
func (l lab) edit(t *testing.T, name string, change func(*egress_v1alpha1.Proxy)) error {
	t.Helper()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		p := new(egress_v1alpha1.Proxy)
		if err := l.Get(t.Context(), l.key(name), p); err != nil {
			return err
		}
		change(p)
		return l.Update(t.Context(), p)
	})
}

// touchSecret changes the data of a Secret.
func (l lab) touchSecret(t *testing.T, name string) error {
	t.Helper()
	s := secret(name)
	s.Data["username"] = []byte(rand.Text())
	return l.Update(t.Context(), l.in(s))
}

func (l lab) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: l.ns, Name: name}
}

// external is the least Proxy there is.
func external(name string) *egress_v1alpha1.Proxy {
	return &egress_v1alpha1.Proxy{
		Name: name,
		Spec: egress_v1alpha1.ProxySpec{Mode: egress_v1alpha1.External, Endpoint: &egress_v1alpha1.Endpoint{Host: "127.0.0.9"}},
	}
}

func secret(name string) *core_v1.Secret {
	return &core_v1.Secret{Name: name, Data: map[string][]byte{"username": []byte("u")}}
}

// passes counts how often each Proxy was reconciled.
type passes struct {
	mu     sync.Mutex
	counts map[types.NamespacedName]int
	then   func(context.Context, types.NamespacedName) (reconcile.Result, error) // nil does nothing
}

func (p *passes) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	p.mu.Lock()
	if p.counts == nil {
		p.counts = make(map[types.NamespacedName]int)
	}
	p.counts[key]++
	p.mu.Unlock()
	if p.then == nil {
		return reconcile.Result{}, nil
	}
	return p.then(ctx, key)
}

func (p *passes) of(key types.NamespacedName) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[key]
}

// process is a controller that runs here.
type process struct {
	*controller.Controller
	log  rig.Output
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// options are those of a controller in the lab's namespace.
func (l lab) options() controller.Options {
	return controller.Options{Config: l.Config(), Namespaces: []string{l.ns}, Namespace: l.ns, Lease: "fleet"}
}

// run starts one until the test ends.
func run(t *testing.T, o controller.Options, w controller.Work) *process {
	t.Helper()
	p := &process{done: make(chan struct{})}
	o.Log = slog.New(slog.NewTextHandler(&p.log, nil))
	var err error
	if p.Controller, err = controller.New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	p.stop = stop
	go func() { defer close(p.done); p.err = p.Run(ctx, w) }()
	t.Cleanup(func() { p.end(t) })
	return p
}

// end stops it, and waits for it.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	<-p.done
	if p.err != nil {
		t.Errorf("it ended with %v; it said:\n%s", p.err, p.log.String())
	}
}

func (p *process) leads(context.Context) error {
	if err := p.Leads(); err != nil {
		return fmt.Errorf("%w; it says:\n%s", err, p.log.String())
	}
	return nil
}
