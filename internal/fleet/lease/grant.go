package lease

import (
	"container/heap"
	"context"
	"time"
)

// Acquire implements Store.
func (s *Memory) Acquire(_ context.Context, r Request) (Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	if got, found, err := s.kept(r); found {
		return got, err
	}
	p := s.pool(r.Selector)
	if s.full() {
		return Lease{}, s.refuse(p, r, now)
	}
	m, bound := s.choose(p, r, now)
	if m == nil {
		return Lease{}, s.refuse(p, r, now)
	}
	return s.grant(m, p.shape, r, bound, now).lease(), nil
}

// Kept returns the lease that the key of a request has, or ErrReused; found is false if
// it has none.
func (s *Memory) Kept(_ context.Context, r Request) (got Lease, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	return s.kept(r)
}

func (s *Memory) kept(r Request) (got Lease, found bool, err error) {
	if r.Key == "" {
		return Lease{}, false, nil
	}
	switch g := s.keys[r.Key]; {
	case g == nil:
		return Lease{}, false, nil
	case g.digest != digest(r):
		return Lease{}, true, ErrReused
	default:
		return g.lease(), true, nil
	}
}

// choose returns who is to have the lease, or nil; bound is false where a session had
// another.
func (s *Memory) choose(p *pool, r Request, now time.Time) (m *member, bound bool) {
	left := s.named(r.Exclude)
	suits := func(m *member) bool {
		return !m.full(r.Target) && s.rests.of(m, r.Target, now).IsZero() && !left[m]
	}
	var last *granted
	if r.Session != "" {
		last = s.sessions[sessionKey(r.Session, p.shape)]
	}
	if last != nil && s.over(last, now) {
		last = nil
	}
	if last != nil {
		if m := last.member; !last.gone() && m.open() && p.has(m) && suits(m) {
			return m, true
		}
	}
	return s.pick(p, suits, now), last == nil
}

func (s *Memory) grant(m *member, sh *shape, r Request, bound bool, now time.Time) *granted {
	s.fence++
	s.changes.Add(1)
	g := &granted{
		id: s.NewID(), proxy: m.Proxy, member: m, era: m.era.Load(), shape: sh, target: r.Target, key: r.Key,
		expires: now.Add(r.TTL), ttl: r.TTL, fence: s.fence, bound: bound,
	}
	if r.Session != "" {
		g.session = sessionKey(r.Session, sh)
	}
	if r.Key != "" {
		g.digest = digest(r)
	}
	s.begin(g)
	return g
}

// begin lets a lease be active.
func (s *Memory) begin(g *granted) {
	g.active = true
	s.remember(g)
	g.member.take(g)
	heap.Push(&s.due, g)
	if g.key != "" {
		s.keys[g.key] = g
	}
}

// remember lets a lease be found.
func (s *Memory) remember(g *granted) {
	s.granted[g.id] = g
	if g.session == "" {
		return
	}
	if last := s.sessions[g.session]; last != nil {
		last.outlived.Store(true)
	}
	s.sessions[g.session] = g
}

// find returns a lease that is active or can be reported about, or nil.
func (s *Memory) find(id string, now time.Time) *granted {
	if g := s.granted[id]; g != nil && !s.over(g, now) {
		return g
	}
	return nil
}

// over says whether a lease can be reported about no more.
func (s *Memory) over(g *granted, now time.Time) bool {
	return !g.active && !now.Before(g.expires.Add(s.Windows.Cooldown))
}

// end gives the proxy back; the lease can still be reported about.
func (s *Memory) end(g *granted, at time.Time) {
	full := s.full()
	g.active, g.expires = false, at
	heap.Remove(&s.due, g.place)
	s.ended.push(g)
	g.member.give(g)
	if s.keys[g.key] == g {
		delete(s.keys, g.key)
	}
	if full {
		s.freed(nil)
	} else if g.member.Healthy {
		s.freed(g.member.Proxy)
	}
}

// expire ends what ends by time, and returns the time.
func (s *Memory) expire() time.Time {
	now := s.Now()
	for len(s.due) > 0 && !now.Before(s.due[0].expires) {
		s.end(s.due[0], s.due[0].expires)
	}
	for g := s.ended.first(); g != nil && (s.ended.len() > s.Most || s.over(g, now)); g = s.ended.first() {
		s.ended.pop()
		delete(s.granted, g.id)
		if g.session != "" && !g.outlived.Load() {
			delete(s.sessions, g.session)
		}
	}
	return now
}
