package provider_test

import (
	"errors"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
)

// TestWithFence: behind a closed fence everything can be seen, and nothing changes.
func TestWithFence(t *testing.T) {
	world, closed := new(providertest.Memory), error(nil)
	p := provider.WithFence(world.Provider("ours"), func() error { return closed })
	it, err := p.Create(t.Context(), world.Request("ours", "1"))
	if err != nil {
		t.Fatal(err)
	}
	closed = errors.New("another process leads")
	if err := p.Delete(t.Context(), it.ID); !errors.Is(err, provider.ErrTransient) || !errors.Is(err, closed) {
		t.Errorf("the delete says %v", err)
	}
	if _, err := p.Create(t.Context(), world.Request("ours", "2")); !errors.Is(err, closed) {
		t.Errorf("the create says %v", err)
	}
	if all, err := p.ListByTag(t.Context(), "ours"); err != nil || len(all) != 1 {
		t.Errorf("there are %v, %v", all, err)
	}
	if _, err := p.Get(t.Context(), it.ID); err != nil {
		t.Error(err)
	}
	closed = nil
	if err := p.Delete(t.Context(), it.ID); err != nil {
		t.Error(err)
	}
}
