package lease

import (
	"container/heap"
	"slices"
	"strings"
	"time"
)

// State is what of a store outlives its process, as JSON.
type State struct {
	Fence     uint64          `json:"fence"`
	Proxies   []Proxy         `json:"proxies"`   // as they were told last, by UID
	Leases    []SavedLease    `json:"leases"`    // by ID
	Cooldowns []SavedCooldown `json:"cooldowns"` // by UID and target
}

// SavedLease is a lease that is active or can still be reported about.
type SavedLease struct {
	ID      string    `json:"id"`
	Proxy   Proxy     `json:"proxy"`
	Expires time.Time `json:"expires"`
	TTL     int64     `json:"ttlNanoseconds"`
	Fence   uint64    `json:"fence"`
	Active  bool      `json:"active,omitempty"`
	Gone    bool      `json:"gone,omitempty"` // the proxy is
	Request Request   `json:"request"`
}

// SavedCooldown is the rest of a proxy for a target.
type SavedCooldown struct {
	UID     string    `json:"uid"`
	Address string    `json:"address"`
	Target  string    `json:"target,omitempty"`
	Until   time.Time `json:"until"`
	Times   int       `json:"times"`
}

// State returns what is to be kept. It is in order, so that the same state is written
// with the same bytes.
func (s *Memory) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	out := State{Fence: s.fence, Leases: make([]SavedLease, 0, len(s.granted))}
	for _, g := range s.granted {
		out.Leases = append(out.Leases, SavedLease{
			ID: g.ID, Proxy: g.Proxy, Expires: g.ExpiresAt, TTL: int64(g.TTL), Fence: g.Fence,
			Active: g.active, Gone: g.gone(), Request: g.request,
		})
	}
	for uid, m := range s.members {
		out.Proxies = append(out.Proxies, m.Proxy)
		for target, c := range m.cooling {
			if !c.forgotten(now, s.Windows) {
				out.Cooldowns = append(out.Cooldowns, SavedCooldown{UID: uid, Address: m.Address, Target: target, Until: c.until, Times: c.times})
			}
		}
	}
	slices.SortFunc(out.Proxies, func(a, b Proxy) int { return strings.Compare(a.UID, b.UID) })
	slices.SortFunc(out.Leases, func(a, b SavedLease) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(out.Cooldowns, func(a, b SavedCooldown) int {
		return strings.Compare(a.UID+"\x00"+a.Target, b.UID+"\x00"+b.Target)
	})
	return out
}

// Restore fills an empty store with what was kept. What has expired meanwhile ends at
// the next call. Proxies are not offered before [Memory.Set] tells of them; those that
// it never does are to be told to [Memory.Remove].
func (s *Memory) Restore(state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence = max(s.fence, state.Fence)
	for _, p := range state.Proxies {
		s.absent(p)
	}
	for _, c := range state.Cooldowns {
		m := s.absent(Proxy{UID: c.UID, Address: c.Address})
		if m.cooling == nil {
			m.cooling = map[string]cooldown{}
		}
		m.cooling[c.Target] = cooldown{until: c.Until, times: c.Times}
	}
	slices.SortFunc(state.Leases, func(a, b SavedLease) int { return int(a.Fence) - int(b.Fence) })
	for _, saved := range state.Leases {
		s.restore(saved)
	}
}

func (s *Memory) restore(saved SavedLease) {
	g := &granted{
		active: saved.Active, request: saved.Request,
		ID: saved.ID, Proxy: saved.Proxy, Target: saved.Request.Target, ExpiresAt: saved.Expires, TTL: time.Duration(saved.TTL), Fence: saved.Fence,
	}
	if g.member = (&member{Proxy: saved.Proxy, era: 1}); !saved.Gone {
		g.member = s.absent(saved.Proxy)
		g.era = g.member.era
	}
	if s.granted[g.ID] = g; g.active {
		heap.Push(&s.due, g)
		g.member.leases[g.ID] = g
		g.member.count(+1, g.Target)
		if g.request.Key != "" {
			s.keys[g.request.Key] = g
		}
	}
	if !g.active {
		s.ended.PushBack(g)
	}
	if g.request.Session != "" {
		g.session = sessionKey(g.request)
		s.sessions[g.session] = g
	}
}

// absent returns the member of a proxy that nobody has told of yet.
func (s *Memory) absent(p Proxy) *member {
	if m := s.members[p.UID]; m != nil {
		return m
	}
	p.Healthy = false
	m := newMember(p, s.slot())
	s.members[p.UID] = m
	return m
}
