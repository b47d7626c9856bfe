package lease

import (
	"sync/atomic"
	"time"
)

// member is a proxy with what is known of its use.
type member struct {
	*Proxy              // as it was told last; what is granted has it too
	fit    time.Time    // since when it is healthy
	era    atomic.Int64 // which instance it is, or that it is gone
	slot   int          // where pools have its rank
	active int
	counts map[string]int       // leases by target
	leases map[string]*granted  // those that are active, by ID
	rests  map[string]*cooldown // by target; "" is every target
	pools  []*pool
	untold bool      // it was restored, and nobody has told of it since
	ends   time.Time // when the first of its leases ends, or earlier
}

func (m *member) name() string { return m.Namespace + "/" + m.Name }

// open says whether it could take one more lease, for some target.
func (m *member) open() bool {
	return m.Healthy && (m.Capacity == 0 || m.active < m.Capacity)
}

// full says whether it carries as many leases for the target as it may.
func (m *member) full(target string) bool {
	return m.PerTarget > 0 && m.counts[target] >= m.PerTarget
}

// take adds a lease.
func (m *member) take(g *granted) {
	m.leases[g.id] = g
	m.counts[g.target]++
	m.count(+1)
	m.until(g.expires)
}

// give takes a lease away.
func (m *member) give(g *granted) {
	delete(m.leases, g.id)
	if m.counts[g.target]--; m.counts[g.target] == 0 {
		delete(m.counts, g.target)
	}
	m.count(-1)
}

func (m *member) count(by int) {
	for _, p := range m.pools {
		p.exit(m)
	}
	m.active += by
	for _, p := range m.pools {
		p.enter(m)
	}
}

// until notes that a lease ends then.
func (m *member) until(end time.Time) {
	m.ends = sooner(m.ends, end)
	for _, p := range m.pools {
		if !p.ends.IsZero() {
			p.ends = sooner(p.ends, end)
		}
	}
}

// firstEnd is when the first of its leases ends if nobody renews it, or earlier; zero
// if it has none.
func (m *member) firstEnd(now time.Time) time.Time {
	if m.active == 0 {
		m.ends = time.Time{}
	}
	if m.active > 0 && !m.ends.After(now) {
		m.ends = time.Time{}
		for _, g := range m.leases {
			m.ends = sooner(m.ends, g.expires)
		}
	}
	return m.ends
}
