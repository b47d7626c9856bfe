package lease

import (
	"maps"
	"time"
)

// member is a proxy with what is known of its use.
type member struct {
	Proxy
	era     int // how many instances it was, or that it is gone
	slot    int // where pools have its rank
	active  int
	targets map[string]int      // leases by target
	cooling map[string]cooldown // by target; "" is every target
	leases  map[string]*granted // those that are active, by ID
	pools   []*pool
}

func newMember(p Proxy, slot int) *member {
	return &member{Proxy: p, slot: slot, targets: map[string]int{}, leases: map[string]*granted{}}
}

// open says whether it could take one more lease, for some target.
func (m *member) open() bool {
	return m.Healthy && (m.Capacity == 0 || m.active < m.Capacity)
}

// count changes the number of leases by one, up or down.
func (m *member) count(by int, target string) {
	if m.open() {
		for _, p := range m.pools {
			p.exit(m)
		}
	}
	m.active += by
	if m.targets[target] += by; m.targets[target] == 0 {
		delete(m.targets, target)
	}
	if m.open() {
		for _, p := range m.pools {
			p.enter(m)
		}
	}
}

// full says whether it carries as many leases for the target as it may.
func (m *member) full(target string) bool {
	return m.PerTarget > 0 && m.targets[target] >= m.PerTarget
}

// rests returns until when it cools down for a target, the zero time if it does not.
func (m *member) rests(target string, now time.Time) (until time.Time) {
	if len(m.cooling) == 0 {
		return until
	}
	for _, key := range [...]string{"", target} {
		if c, ok := m.cooling[key]; ok && now.Before(c.until) && c.until.After(until) {
			until = c.until
		}
	}
	return until
}

// manyTargets is how many cooldowns a proxy has before those that are over are dropped.
const manyTargets = 64

// rest begins or prolongs a cooldown.
func (m *member) rest(target string, now time.Time, w Windows) {
	if m.cooling == nil {
		m.cooling = map[string]cooldown{}
	}
	if len(m.cooling) >= manyTargets {
		maps.DeleteFunc(m.cooling, func(_ string, c cooldown) bool { return c.forgotten(now, w) })
	}
	m.cooling[target] = m.cooling[target].after(now, w)
}

// firstEnd is when the first of its leases ends, if nobody renews it.
func (m *member) firstEnd() (end time.Time) {
	for _, g := range m.leases {
		if end.IsZero() || g.ExpiresAt.Before(end) {
			end = g.ExpiresAt
		}
	}
	return end
}
