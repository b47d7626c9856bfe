package controller_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/controller"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
	"github.com/gatehouse-proxy/gatehouse/test/cluster"
)

// managed names a Secret in each way there is.
func managed(name, cloudInit, auth, config string) *egress_v1alpha1.Proxy {
	p := external(name)
	p.Spec = egress_v1alpha1.ProxySpec{
		Mode: egress_v1alpha1.Managed, Provider: "gcp", Zone: "europe-west1-b",
		CloudInit:         &egress_v1alpha1.CloudInit{SecretRef: &egress_v1alpha1.SecretKeyRef{Name: cloudInit}},
		Auth:              &egress_v1alpha1.Auth{SecretRef: egress_v1alpha1.LocalRef{Name: auth}},
		ProviderConfigRef: &egress_v1alpha1.LocalRef{Name: config},
	}
	return p
}

// TestWhatMakesAProxyDue: everything that its next step may depend on, and nothing else.
func TestWhatMakesAProxyDue(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	for _, name := range []string{"init", "auth", "config", "other"} {
		l.create(t, secret(name))
	}
	l.create(t, managed("px", "init", "auth", "config"))
	l.create(t, managed("bystander", "a", "b", "c"))
	health := make(chan types.NamespacedName)
	o := l.options()
	o.Health = health
	p := new(passes)
	c := run(t, o, controller.Work{Reconcile: p.reconcile})
	px, bystander := l.key("px"), l.key("bystander")
	seen := func(key types.NamespacedName, more int) func(context.Context) error {
		return func(context.Context) error {
			if n := p.of(key); n < more {
				return fmt.Errorf("%d passes, want %d; it says:\n%s", n, more, c.log.String())
			}
			return nil
		}
	}
	until(t, "there was a first pass of each", seen(px, 1))
	until(t, "there was a first pass of each", seen(bystander, 1))
	quiet := p.of(bystander)
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"the Secret of cloudInit", func() error { return l.touchSecret(t, "init") }},
		{"the Secret of auth", func() error { return l.touchSecret(t, "auth") }},
		{"the Secret of providerConfigRef", func() error { return l.touchSecret(t, "config") }},
		{"the deletion of a Secret", func() error { return l.Delete(t.Context(), l.in(secret("auth"))) }},
		{"the creation of a Secret", func() error { l.create(t, secret("auth")); return nil }},
		{"the spec", func() error {
			return l.edit(t, "px", func(p *egress_v1alpha1.Proxy) { p.Spec.MachineType = "e2-micro" })
		}},
		{"a finalizer, which changes no generation", func() error {
			return l.edit(t, "px", func(p *egress_v1alpha1.Proxy) { p.Finalizers = []string{egress_v1alpha1.InstanceFinalizer} })
		}},
		{"the annotation retry", func() error {
			return l.edit(t, "px", func(p *egress_v1alpha1.Proxy) {
				p.Annotations = map[string]string{egress_v1alpha1.RetryAnnotation: "1"}
			})
		}},
		{"a status", func() error {
			objects := c.Objects()
			base, err := objects.Current(t.Context(), px)
			if err != nil {
				return err
			}
			p := base.DeepCopy()
			p.Status.IP = "192.0.2.7"
			return objects.PatchStatus(t.Context(), base, p)
		}},
		{"a verdict of probes", func() error { health <- px; return nil }},
		{"the deletion", func() error { return l.Delete(t.Context(), l.in(external("px"))) }},
	} {
		before := p.of(px)
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		until(t, step.what+" makes it due", seen(px, before+1))
	}
	if n := p.of(bystander); n != quiet {
		t.Errorf("the bystander had %d passes more", n-quiet)
	}
}

// TestAnotherNamespace: a Secret of the same name elsewhere is none of ours, and Proxies
// elsewhere do not count.
func TestAnotherNamespace(t *testing.T) {
	l, m := newLab(t, cluster.Shared(t)), newLab(t, cluster.Shared(t))
	o := l.options()
	o.Namespaces = []string{l.ns, l.Namespace(t)}
	p := new(passes)
	m.create(t, external("px"))
	l.create(t, managed("px", "init", "auth", "config"))
	c := run(t, o, controller.Work{Reconcile: p.reconcile})
	until(t, "it is reconciled", func(context.Context) error {
		if p.of(l.key("px")) == 0 {
			return fmt.Errorf("it says:\n%s", c.log.String())
		}
		return nil
	})
	all, err := c.Objects().Proxies(t.Context())
	if err != nil || len(all) != 1 || p.of(m.key("px")) != 0 {
		t.Errorf("it knows %d Proxies, and has reconciled the foreign one %d times: %v", len(all), p.of(m.key("px")), err)
	}
}

// TestFailuresAreTriedAgain: with growing pauses, and what was asked for later comes later.
func TestFailuresAreTriedAgain(t *testing.T) {
	l := newLab(t, cluster.Shared(t))
	p := new(passes)
	p.then = func(_ context.Context, key types.NamespacedName) (reconcile.Result, error) {
		if p.of(key) < 4 {
			return reconcile.Result{}, fmt.Errorf("the provider does not answer")
		}
		return reconcile.Result{}, nil
	}
	l.create(t, external("px"))
	c := run(t, l.options(), controller.Work{Reconcile: p.reconcile})
	until(t, "it has succeeded", func(context.Context) error {
		if p.of(l.key("px")) < 4 {
			return fmt.Errorf("%d passes; it says:\n%s", p.of(l.key("px")), c.log.String())
		}
		return nil
	})
}
