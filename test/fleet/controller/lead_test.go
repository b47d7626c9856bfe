package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	rbac_v1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/controller"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// terms notes who works, and that nobody does so beside another.
type terms struct {
	mu      sync.Mutex
	working map[string]bool
	both    []string
}

func (w *terms) of(name string) func(context.Context) {
	return func(ctx context.Context) {
		w.mu.Lock()
		if w.working == nil {
			w.working = make(map[string]bool)
		}
		w.working[name] = true
		if len(w.working) > 1 {
			w.both = append(w.both, name)
		}
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		delete(w.working, name)
		w.mu.Unlock()
	}
}

// TestEndsAsATermBegins: what of the term has not begun by then is no failure.
func TestEndsAsATermBegins(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	for i := range 10 {
		began := make(chan struct{})
		p := run(t, l.options(), controller.Work{
			Reconcile: new(passes).reconcile, Beside: []func(context.Context){func(context.Context) { close(began) }},
		})
		<-began
		time.AfterFunc(time.Duration(i)*5*time.Millisecond, p.stop)
		<-p.done
		p.end(t)
	}
}

// TestAnotherTakesOver: one of two works, and the other does as soon as the first has
// ended, because it gives its Lease back.
func TestAnotherTakesOver(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	l.create(t, external("px"))
	var w terms
	first, second := new(passes), new(passes)
	a := run(t, l.options(), controller.Work{Reconcile: first.reconcile, Beside: []func(context.Context){w.of("a")}})
	until(t, "the first leads", a.leads)
	b := run(t, l.options(), controller.Work{Reconcile: second.reconcile, Beside: []func(context.Context){w.of("b")}})
	until(t, "the second knows the first", func(context.Context) error { return b.says("another process leads") })
	until(t, "the first works", func(context.Context) error { return atLeast(first.of(l.key("px")), 1) })
	objects := b.Objects()
	p, err := objects.Current(t.Context(), l.key("px"))
	if err != nil {
		t.Fatal(err)
	}
	changed := p.DeepCopy()
	changed.Status.IP = "192.0.2.1"
	if err := objects.PatchStatus(t.Context(), p, changed); !errors.Is(err, controller.ErrNotLeading) || second.of(l.key("px")) > 0 {
		t.Errorf("the second writes (%v) or works (%d passes)", err, second.of(l.key("px")))
	}
	began := time.Now()
	a.end(t)
	until(t, "the second leads", b.leads)
	if took := time.Since(began); took > 14*time.Second {
		t.Errorf("it took %s, as if the first had died", took)
	}
	until(t, "the second works", func(context.Context) error { return atLeast(second.of(l.key("px")), 1) })
	if w.both != nil {
		t.Errorf("%v worked beside another", w.both)
	}
}

// TestLosingTheLease: where the API server hangs, the leader stops before another could
// start, and stays a process; when the API server is back, it works again.
func TestLosingTheLease(t *testing.T) {
	c := cluster.Start(t)
	l := newLab(t, c)
	o := l.options()
	o.LeaseDuration = 3 * time.Second
	var w terms
	p := new(passes)
	l.create(t, external("px"))
	a := run(t, o, controller.Work{Reconcile: p.reconcile, Beside: []func(context.Context){w.of("a")}})
	until(t, "it works", func(context.Context) error { return atLeast(p.of(l.key("px")), 1) })
	c.FreezeAPIServer(t)
	began := time.Now()
	until(t, "it stops", func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.working) > 0 {
			return errors.New("it works")
		}
		return nil
	})
	if took := time.Since(began); took > o.LeaseDuration {
		t.Errorf("it stopped after %s; another may start after %s", took, o.LeaseDuration)
	}
	if err := a.Leads(); !errors.Is(err, controller.ErrNotLeading) {
		t.Errorf("it says %v", err)
	}
	c.ThawAPIServer(t)
	before := p.of(l.key("px"))
	until(t, "it leads again", a.leads)
	until(t, "it works again", func(context.Context) error { return atLeast(p.of(l.key("px")), before+1) })
}

// TestWhatIsMissingIsSaidInOneLine: the kind, the account, a right.
func TestWhatIsMissingIsSaidInOneLine(t *testing.T) {
	c := cluster.Start(t)
	ns := c.Namespace(t)
	o := controller.Options{Config: c.Config(), Namespaces: []string{ns}, Namespace: ns, Lease: "fleet", Log: slog.New(slog.DiscardHandler)}
	expect := func(what string, o controller.Options, want ...string) {
		t.Helper()
		_, err := controller.New(t.Context(), o)
		if err == nil {
			t.Errorf("%s: it starts", what)
			return
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: no %q in %v", what, text, err)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: it takes several lines: %v", what, err)
		}
	}
	expect("no kind", o, "does not know the kind Proxy of egress.gatehouse.dev/v1alpha1", "apply config/crd/egress.gatehouse.dev_proxies.yaml")
	c.Define(t, definition(t))
	if _, err := controller.New(t.Context(), o); err != nil {
		t.Errorf("with the kind: %v", err)
	}
	stranger := o
	stranger.Config = c.Config()
	stranger.Config.CertData, stranger.Config.KeyData, stranger.Config.BearerToken = nil, nil, "wrong"
	expect("no account", stranger, "does not know this account", "correct --kubeconfig")
	poor := o
	config, err := clientcmd.BuildConfigFromFlags("", c.ServiceAccount(t, ns, "poor"))
	if err != nil {
		t.Fatal(err)
	}
	poor.Config = config
	expect("no right to read kube-system", poor, "a right is missing", "namespaces \"kube-system\" is forbidden", "deploy/fleet")
	if poor.Config, err = clientcmd.BuildConfigFromFlags("", c.ServiceAccount(t, ns, "less-poor", rbac_v1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"},
	})); err != nil {
		t.Fatal(err)
	}
	expect("no rights", poor, "rights are missing: get proxies in namespace "+ns, "patch proxies/status in namespace "+ns, "watch secrets", "update leases fleet in namespace "+ns)
}

// TestTheAPIServerIsWaitedFor: one that does not answer yet is no reason to give up.
func TestTheAPIServerIsWaitedFor(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	o := l.options()
	var log rig.Output
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	o.Config.Host = "https://127.0.0.1:1"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := controller.New(ctx, o); done <- err }()
	until(t, "it says why it waits", func(context.Context) error {
		if !strings.Contains(log.String(), "does not answer; trying again") {
			return errors.New(log.String())
		}
		return nil
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestPassesEndWithTheTerm: nothing of a pass goes on when the Lease has been given back.
func TestPassesEndWithTheTerm(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	l.create(t, external("px"))
	began, ended := make(chan struct{}), make(chan struct{})
	a := run(t, l.options(), controller.Work{Reconcile: func(ctx context.Context, _ types.NamespacedName) (reconcile.Result, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return reconcile.Result{}, ctx.Err()
	}})
	<-began
	a.end(t)
	select {
	case <-ended:
	default:
		t.Error("a pass is still under way")
	}
}

// says tells whether a process has said something.
func (p *process) says(text string) error {
	if !strings.Contains(p.log.String(), text) {
		return fmt.Errorf("it does not say %q, but:\n%s", text, p.log.String())
	}
	return nil
}

func atLeast(n, want int) error {
	if n < want {
		return fmt.Errorf("%d, want %d", n, want)
	}
	return nil
}
