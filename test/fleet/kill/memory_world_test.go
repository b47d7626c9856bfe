package kill_test

import (
	"slices"
	"testing"
	"time"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider/providertest"
)

// memoryWorld is the one that stands for clouds in the contract of providers.
type memoryWorld struct {
	providertest.Memory
	failing []trouble
}

func newMemoryWorld(c *clock) *memoryWorld {
	m := &memoryWorld{}
	m.Now = c.now
	return m
}

func (m *memoryWorld) provider(_ *testing.T, cluster string) provider.Provider {
	return m.Provider(cluster)
}
func (m *memoryWorld) name() string                    { return "gcp" }
func (m *memoryWorld) spec() egress_v1alpha1.ProxySpec { return machine("a") }

func (m *memoryWorld) zones() []string                  { return []string{"a", "b", "c"} }
func (m *memoryWorld) passes(*testing.T, time.Duration) { m.Advance() }

// instances looks past the troubles, which are for everybody.
func (m *memoryWorld) instances(t *testing.T, cluster string) []provider.Instance {
	t.Helper()
	if slices.Contains(m.failing, forbids) {
		m.Lift(t, providertest.Forbids)
		defer m.Inject(t, providertest.Forbids, "")
	}
	all, err := m.Provider(cluster).ListByTag(t.Context(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var faults = map[trouble]providertest.Fault{
	quotaLater: providertest.QuotaLater, forbids: providertest.Forbids, stops: providertest.Stops, vanishes: providertest.Vanishes,
}

func (m *memoryWorld) troubles() []trouble { return []trouble{quotaLater, forbids, stops, vanishes} }

func (m *memoryWorld) begin(t *testing.T, f trouble, on string) {
	m.failing = append(m.failing, f)
	m.Inject(t, faults[f], on)
}

func (m *memoryWorld) end(t *testing.T, f trouble) {
	m.failing = slices.DeleteFunc(m.failing, func(g trouble) bool { return f == g })
	m.Lift(t, faults[f])
}
