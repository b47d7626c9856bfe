package lease

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// State is what of a store outlives its process, as JSON.
type State struct {
	Fence     uint64          `json:"fence"`
	Proxies   []SavedProxy    `json:"proxies"`   // those that leases or cooldowns are of, by UID and how they were
	Leases    []SavedLease    `json:"leases"`    // those that are active by ID, then the others in order of their ends
	Cooldowns []SavedCooldown `json:"cooldowns"` // by UID and target
}

// SavedProxy is a proxy as it was told once.
type SavedProxy struct {
	Proxy
	// Last says that it was told so last, and Fit since when it was healthy.
	Last bool      `json:"last,omitempty"`
	Fit  time.Time `json:"fit,omitzero"`
}

// SavedLease is a lease that is active or can still be reported about.
type SavedLease struct {
	ID        string        `json:"id"`
	Proxy     int           `json:"proxy"` // its place in State.Proxies
	Selector  Selector      `json:"selector,omitzero"`
	Target    string        `json:"target,omitempty"`
	Session   string        `json:"session,omitempty"`
	Key       string        `json:"key,omitempty"`
	Digest    []byte        `json:"digest,omitempty"` // of the request that has the key
	ExpiresAt time.Time     `json:"expiresAt"`
	TTL       time.Duration `json:"ttlNanoseconds"`
	Fence     uint64        `json:"fence"`
	Active    bool          `json:"active,omitempty"`
	Rebound   bool          `json:"rebound,omitempty"`
	Gone      bool          `json:"gone,omitempty"` // the proxy is, or is another instance
}

// SavedCooldown is the rest of a proxy for a target.
type SavedCooldown struct {
	UID    string    `json:"uid"`
	Target string    `json:"target,omitempty"`
	Until  time.Time `json:"until"`
	Times  int       `json:"times"`
}

// SavedEnded is how many of the leases that ended a State has: the latest.
const SavedEnded = 10_000

// moment is what a store holds at one moment, to be put into a State without its lock.
type moment struct {
	state   State
	active  []current
	ended   []*granted
	members []moved
}

// current is an active lease with what of it changes.
type current struct {
	*granted
	expires time.Time
	ttl     time.Duration
}

// moved is what a member was at the moment.
type moved struct {
	proxy *Proxy
	fit   time.Time
}

// State returns what is to be kept. It is in order, so that the same state is written
// with the same bytes. The store is locked while a few bytes of each lease are copied.
func (s *Memory) State() State {
	m := s.moment()
	slices.SortFunc(m.active, func(a, b current) int { return cmp.Compare(a.fence, b.fence) })
	slices.SortFunc(m.members, func(a, b moved) int { return strings.Compare(a.proxy.UID, b.proxy.UID) })
	slices.SortFunc(m.state.Cooldowns, func(a, b SavedCooldown) int {
		return cmp.Or(strings.Compare(a.UID, b.UID), strings.Compare(a.Target, b.Target))
	})
	places := make(map[*Proxy]int, len(m.members))
	for _, member := range m.members {
		m.state.Proxies = append(m.state.Proxies, SavedProxy{Proxy: *member.proxy, Last: true, Fit: member.fit})
		places[member.proxy] = len(places)
	}
	m.state.Leases = make([]SavedLease, 0, len(m.active)+len(m.ended))
	for _, l := range m.active {
		saved := m.save(l.granted, places)
		saved.Active, saved.ExpiresAt, saved.TTL, saved.Key, saved.Digest = true, l.expires, l.ttl, l.key, []byte(l.digest)
		m.state.Leases = append(m.state.Leases, saved)
	}
	for _, g := range m.ended {
		saved := m.save(g, places)
		saved.ExpiresAt, saved.TTL = g.expires, g.ttl
		m.state.Leases = append(m.state.Leases, saved)
	}
	return m.state
}

// save returns what of a lease does not change, or may change meanwhile.
func (m *moment) save(g *granted, places map[*Proxy]int) SavedLease {
	place, ok := places[g.proxy]
	if !ok {
		place = len(places)
		m.state.Proxies = append(m.state.Proxies, SavedProxy{Proxy: *g.proxy})
		places[g.proxy] = place
	}
	saved := SavedLease{
		ID: g.id, Proxy: place, Selector: g.shape.Selector, Target: g.target, Fence: g.fence, Rebound: !g.bound, Gone: g.gone(),
	}
	if !g.outlived.Load() {
		saved.Session, _, _ = strings.Cut(g.session, "\x00")
	}
	return saved
}

func (s *Memory) moment() moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	m := moment{state: State{Fence: s.fence}, active: make([]current, 0, len(s.due)), ended: s.ended.last(SavedEnded)}
	for _, g := range s.due {
		m.active = append(m.active, current{g, g.expires, g.ttl})
	}
	for uid, member := range s.members {
		kept := member.active > 0 || s.Policy == SlowStart
		for target, c := range member.rests {
			if !c.forgotten(now, s.Windows) {
				kept = true
				m.state.Cooldowns = append(m.state.Cooldowns, SavedCooldown{UID: uid, Target: target, Until: c.until, Times: c.times})
			}
		}
		if kept {
			m.members = append(m.members, moved{member.Proxy, member.fit})
		}
	}
	return m
}
