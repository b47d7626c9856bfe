package lease

import (
	"fmt"
	"slices"
	"time"
)

// check returns what a State has that no store would have written.
func (st *State) check() error {
	for i, p := range st.Proxies {
		if p.UID == "" {
			return fmt.Errorf("proxies[%d] has no UID", i)
		}
	}
	seen := make(map[string]bool, len(st.Leases))
	for i, l := range st.Leases {
		switch {
		case l.ID == "" || seen[l.ID]:
			return fmt.Errorf("leases[%d] has the ID %q, which is empty or another's", i, l.ID)
		case l.Proxy < 0 || l.Proxy >= len(st.Proxies):
			return fmt.Errorf("leases[%d] names proxies[%d] of %d", i, l.Proxy, len(st.Proxies))
		case l.ExpiresAt.IsZero() || l.TTL < MinTTL || l.TTL > MaxTTL:
			return fmt.Errorf("leases[%d] has the end %v and lasts %v", i, l.ExpiresAt, l.TTL)
		}
		seen[l.ID] = true
	}
	for i, c := range st.Cooldowns {
		if c.UID == "" || c.Times < 1 || c.Until.IsZero() {
			return fmt.Errorf("cooldowns[%d] has no proxy, no number or no end", i)
		}
	}
	return nil
}

// Restore fills an empty store with what was kept. What has expired meanwhile ends at
// the next call. Proxies are not offered before [Memory.Set] tells of them. An error says
// what is wrong with the state, of which nothing is then taken.
func (s *Memory) Restore(state State) error {
	if err := state.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	s.fence = max(s.fence, state.Fence)
	for i := range state.Proxies {
		if p := &state.Proxies[i]; p.Last {
			s.absent(&p.Proxy).fit = p.Fit
		}
	}
	for _, c := range state.Cooldowns {
		if m := s.members[c.UID]; m != nil {
			longest := now.Add(s.Windows.length(c.Times))
			s.rests.put(m, c.Target, cooldown{until: earlier(c.Until, longest), times: c.Times})
		}
	}
	for _, saved := range state.Leases {
		saved.ExpiresAt = earlier(saved.ExpiresAt, now.Add(saved.TTL))
		if saved.Active = saved.Active && !saved.Gone; !saved.Active {
			saved.ExpiresAt = earlier(saved.ExpiresAt, now)
		}
		s.restore(saved, &state.Proxies[saved.Proxy].Proxy)
	}
	slices.SortStableFunc(s.ended.all, func(a, b *granted) int { return a.expires.Compare(b.expires) })
	return nil
}

// earlier bounds an end by what it can be at most: the clock may have been set back.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (s *Memory) restore(saved SavedLease, p *Proxy) {
	g := &granted{
		id: saved.ID, proxy: p, shape: s.pool(saved.Selector).shape, target: saved.Target, key: saved.Key, digest: string(saved.Digest),
		expires: saved.ExpiresAt, ttl: saved.TTL, fence: saved.Fence, bound: !saved.Rebound,
	}
	if saved.Session != "" {
		g.session = sessionKey(saved.Session, g.shape)
	}
	if saved.Gone {
		g.member, g.era = &member{Proxy: p}, -1
	} else {
		g.member = s.absent(p)
		g.era = g.member.era.Load()
	}
	if saved.Active {
		s.begin(g)
		return
	}
	s.remember(g)
	s.ended.push(g)
}

// absent returns the member of a proxy that nobody has told of yet.
func (s *Memory) absent(p *Proxy) *member {
	if m := s.members[p.UID]; m != nil {
		return m
	}
	untold := *p
	untold.Healthy = false
	m := s.add(&untold)
	m.untold = true
	return m
}

// since is when a member became healthy that is told to be so now.
func (m *member) since(replaced bool, now time.Time) time.Time {
	if restored := m.untold && !replaced && !m.fit.IsZero(); restored || m.Healthy && !replaced {
		return m.fit
	}
	return now
}
