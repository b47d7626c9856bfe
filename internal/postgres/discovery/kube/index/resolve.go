package index

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
)

// Known implements [discovery.Resolver].
func (x *Index) Known(name string) (registered string, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.claimed(name) {
		return name, true
	}
	if names := x.spelled[strings.ToLower(name)]; len(names) > 0 {
		return names[0], true
	}
	return "", false
}

// Backend implements [discovery.Resolver].
func (x *Index) Backend(deployment string, pooled bool) (discovery.Backend, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c, ok := x.contests[form{deployment, pooled}]
	if !ok {
		return discovery.Backend{}, false
	}
	return c.winner().dial.backend, true
}

// Resolve implements [discovery.Resolver]. Before the index is synced, whatever it does
// not know may be ready soon.
func (x *Index) Resolve(deployment string, pooled bool) (discovery.Target, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	c, ok := x.contests[form{deployment, pooled}]
	if !ok && x.synced {
		_, other := x.contests[form{deployment, !pooled}]
		return discovery.Target{}, &discovery.UnknownError{Deployment: deployment, Pooled: pooled, Other: other}
	}
	if ok {
		if address, ready := c.winner().address(); ready {
			return discovery.Target{Backend: c.winner().dial.backend, Address: address}, nil
		}
	}
	return discovery.Target{}, &discovery.NotReadyError{Deployment: deployment, Pooled: pooled}
}

// address is what a new session dials. A Service without slices is dialled by its name.
func (s *service) address() (address string, ready bool) {
	switch {
	case s.claim.refused:
		return "", false
	case len(s.slices) > 0:
		return s.pick()
	}
	return s.dial.byName, !s.fetching
}

// Serves implements [discovery.Resolver]. Sessions at a name stay as long as the Service
// serves the deployment: where they are is not known.
func (x *Index) Serves(t discovery.Target) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.serves(t)
}

func (x *Index) serves(t discovery.Target) bool {
	c, ok := x.contests[form{t.Backend.Deployment, t.Backend.Pooled}]
	if !ok || c.winner().dial.backend.Service != t.Backend.Service {
		return false
	}
	if t.Address == c.winner().dial.byName {
		return true
	}
	key, err := netip.ParseAddrPort(t.Address)
	if err != nil {
		return false
	}
	_, listed := c.winner().listed[key]
	return listed
}

// Changed implements [discovery.Resolver].
func (x *Index) Changed() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.changed == nil {
		x.changed = make(chan struct{})
	}
	return x.changed
}

// notify wakes those who wait for a change.
func (x *Index) notify() {
	if x.changed != nil {
		close(x.changed)
		x.changed = nil
	}
}

// All implements [discovery.Resolver].
func (x *Index) All() iter.Seq[discovery.Backend] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []discovery.Backend
	for _, c := range x.contests {
		all = append(all, c.winner().claim.dial.backend)
	}
	slices.SortFunc(all, func(a, b discovery.Backend) int {
		if a.Deployment == b.Deployment {
			return sign(!a.Pooled)
		}
		return strings.Compare(a.Deployment, b.Deployment)
	})
	return slices.Values(all)
}
