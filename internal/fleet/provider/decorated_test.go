package provider_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
)

// decorators in the order in which the composition root applies them.
func decorators(p provider.Provider) provider.Provider {
	p = provider.WithMetrics(provider.WithDeadline(p, time.Hour), "memory", new(requests))
	return provider.Limited(p, 1e9)
}

type decoratedWorld struct{ *providertest.Memory }

func (w decoratedWorld) Open(tb testing.TB, cluster string) provider.Provider {
	return decorators(w.Memory.Open(tb, cluster))
}

// TestDecoratorsKeepTheContract: whoever stands above sees the same provider.
func TestDecoratorsKeepTheContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{New: func(*testing.T) providertest.World { return decoratedWorld{new(providertest.Memory)} }})
}

type requests struct {
	mu   sync.Mutex
	seen map[string]int
}

func (r *requests) Request(name, op, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = make(map[string]int)
	}
	r.seen[name+" "+op+" "+result]++
}

func TestWithMetrics(t *testing.T) {
	world, seen := new(providertest.Memory), new(requests)
	p := provider.WithMetrics(world.Provider("ours"), "memory", seen)
	it, err := p.Create(t.Context(), world.Request("ours", "1"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Get(t.Context(), "zones/a/none")
	_, _ = p.Find(t.Context(), "ours", "1")
	_ = p.(provider.CreateOutcome).CreateError(t.Context(), it.ID, it.Operation)
	_ = p.Delete(t.Context(), it.ID)
	for fault, doing := range map[providertest.Fault]func() error{
		providertest.QuotaNow:        func() error { _, err := p.Create(t.Context(), world.Request("ours", "2")); return err },
		providertest.CreateInvalid:   func() error { _, err := p.Create(t.Context(), world.Request("ours", "2")); return err },
		providertest.ListUnavailable: func() error { _, err := p.ListByTag(t.Context(), "ours"); return err },
	} {
		world.Inject(t, fault, "")
		if doing() == nil {
			t.Errorf("%s: no error", fault)
		}
		world.Lift(t, fault)
	}
	want := map[string]int{
		"memory create ok": 1, "memory get not_found": 1, "memory find ok": 1, "memory create_error ok": 1, "memory delete ok": 1,
		"memory create quota_exceeded": 1, "memory create permanent": 1, "memory list transient": 1,
	}
	if !maps.Equal(seen.seen, want) {
		t.Errorf("told:\n%v, want\n%v", seen.seen, want)
	}
}

func TestThrottledIsNoRequest(t *testing.T) {
	world, seen := new(providertest.Memory), new(requests)
	p := provider.WithMetrics(provider.Limited(world.Provider("ours"), 1), "memory", seen)
	_, _ = p.Get(t.Context(), "zones/a/one")
	_, err := p.Get(t.Context(), "zones/a/two")
	if throttled, ok := errors.AsType[*provider.ThrottledError](err); !ok || throttled.After <= 0 {
		t.Errorf("the second read in a second: %v, want that it comes too early", err)
	}
	if want := map[string]int{"memory get not_found": 1}; !maps.Equal(seen.seen, want) {
		t.Errorf("told %v, want %v", seen.seen, want)
	}
}

func TestWithDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := new(providertest.Memory)
		world.Inject(t, providertest.Hangs, "")
		p := provider.WithDeadline(world.Provider("ours"), 30*time.Second)
		began := time.Now()
		_, err := p.Get(t.Context(), "zones/a/one")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("a call that hangs: %v after %v, want %v after 30s", err, time.Since(began), context.DeadlineExceeded)
		}
	})
}

// account is a provider whose Secret names another one.
type account struct {
	provider.Provider
	other provider.Provider
}

func (a account) Configured(map[string][]byte) (provider.Provider, error) { return a.other, nil }

// TestAccountsAreDecorated: calls in an account count like any other.
func TestAccountsAreDecorated(t *testing.T) {
	world, seen := new(providertest.Memory), new(requests)
	p := provider.WithMetrics(account{other: world.Provider("ours")}, "memory", seen)
	p, err := provider.Configured(p, map[string][]byte{})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = p.Get(t.Context(), "zones/a/one")
	if want := map[string]int{"memory get not_found": 1}; !maps.Equal(seen.seen, want) {
		t.Errorf("told %v, want %v", seen.seen, want)
	}
}
