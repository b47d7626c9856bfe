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
	// Windows are those of the store. Where time cannot be set, they are to be short: a
	// second or two.
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

// Run plays the contract to stores that make returns, a new one for each test. Where
// time cannot be set, what needs much of it is left to those where it can.
func Run(t *testing.T, open func(T) Rig) {
	t.Run("Model", func(t *testing.T) { testModel(t, open) })
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// ttl is one that does not end while a test runs whose time nobody sets.
const ttl = 10 * time.Minute
