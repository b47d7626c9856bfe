// Package leasetest is the contract of lease.Store as tests: every store passes [Run].
// The largest part plays stories that rapid invents to the store and to a model that
// scans everything, every time; the others say one promise each.
package leasetest

import (
	"context"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// T is what a test and a part of rapid's stories have in common.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	Context() context.Context
}

// Rig is an empty store, and its time.
type Rig struct {
	Store lease.Store
	// Windows are those of the store.
	Windows lease.Windows
	// Now is the store's time.
	Now func() time.Time
	// Pass lets time pass for the store: it sets the clock, or waits.
	Pass func(time.Duration)
	// Set says that Pass sets the clock, which stands still otherwise. A store whose time
	// is that of a server has that if its scripts take the time as an argument in tests.
	Set bool
	// Reopen returns the store as another process finds it, who then has the proxies told
	// anew; nil where the Rig cannot. The earlier one is not used again.
	Reopen func(T) lease.Store
}

// Run plays the contract to stores that open returns, a new one for each test. Where
// time cannot be set, what passes windows is played if they are those of Brief, and
// what must not if they are longer: such a store is to be run with both.
func Run(t *testing.T, open func(T) Rig) {
	probe := open(t)
	if probe.Set || probe.Windows == Brief() {
		for _, c := range windows {
			t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
		}
	}
	if probe.Set || probe.Windows != Brief() {
		t.Run("Model", func(t *testing.T) { testModel(t, open, (*story).mixed) })
		for _, c := range contract {
			t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
		}
	}
}

// RunLimits is the part of the contract that bounds cooldowns.
func RunLimits(t *testing.T, open func(T) Rig) {
	t.Run("ModelOfACrowd", func(t *testing.T) { testModel(t, open, (*story).crowd) })
	for _, c := range limits {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// ttl is one that does not end while a test runs whose time nobody sets.
const ttl = 10 * time.Minute

// Brief are windows that a test can wait for.
func Brief() lease.Windows {
	return lease.Windows{Cooldown: 1500 * time.Millisecond, Max: 4 * time.Second, Burst: 200 * time.Millisecond}
}

// promise is one test of the contract.
type promise struct {
	name string
	test func(*testing.T, Rig)
}
