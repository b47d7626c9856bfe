package postgres_test

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// endpoints are a Resolver of one deployment, "orders", whose endpoints a test changes.
type endpoints struct {
	mu      sync.Mutex
	ready   []string // what new sessions dial, in turn
	listed  []string // where sessions may stay
	next    int
	changed chan struct{}
}

func newEndpoints(ready ...string) *endpoints {
	return &endpoints{ready: ready, listed: ready, changed: make(chan struct{})}
}

// set replaces the endpoints; all that are ready are listed.
func (e *endpoints) set(ready, unready []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ready, e.listed = ready, slices.Concat(ready, unready)
	close(e.changed)
	e.changed = make(chan struct{})
}

func target(address string) discovery.Target {
	return discovery.Target{Backend: discovery.Backend{Deployment: "orders", Host: "orders.shop.svc", Port: 5432}, Address: address}
}

func (e *endpoints) Known(name string) (string, bool) {
	return "orders", strings.EqualFold(name, "orders")
}

func (e *endpoints) Backend(deployment string, pooled bool) (discovery.Backend, bool) {
	return target("").Backend, deployment == "orders" && !pooled
}

func (e *endpoints) Resolve(deployment string, pooled bool) (discovery.Target, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case deployment != "orders" || pooled:
		return discovery.Target{}, &discovery.UnknownError{Deployment: deployment, Pooled: pooled}
	case len(e.ready) == 0:
		return discovery.Target{}, &discovery.NotReadyError{Deployment: deployment}
	}
	e.next++
	return target(e.ready[e.next%len(e.ready)]), nil
}

func (e *endpoints) Serves(t discovery.Target) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.listed, t.Address)
}

func (e *endpoints) Changed() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.changed
}

func (e *endpoints) All() iter.Seq[discovery.Backend] {
	return slices.Values([]discovery.Backend{target("").Backend})
}

// The resolver of these tests is what others are to be.
var _ discovery.Resolver = (*endpoints)(nil)
