package lease

import (
	"container/heap"
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a store.
type Options struct {
	// Now is the time; [time.Now] by default.
	Now func() time.Time
	// NewID makes IDs of leases, as Lease.ID wants them; none comes twice. [NewID] by
	// default.
	NewID func() string
	// Windows are [DefaultWindows] by default.
	Windows Windows
	// Policy is [LeastLeases] by default.
	Policy Policy
	// Most bounds the leases that are active at once, and those that ended and can still
	// be reported about: if there are more, the ones that ended first are forgotten.
	// 250,000 by default, of less than a kilobyte each.
	Most int
}

// NewID returns 128 bits of the system's randomness.
func NewID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// Memory is a Store of one process. What it remembers is bounded: by the proxies that
// it was told, [MaxTargets] cooldowns each, Options.Most and [maxPools].
type Memory struct {
	Options

	mu       sync.Mutex
	members  map[string]*member   // by UID
	names    map[string][]*member // by namespace and name
	pairs    pairs
	slots    []int            // free ones
	pools    map[string]*pool // by canonical selector
	rests    rests
	granted  map[string]*granted
	sessions map[string]*granted // the last of a session and selector
	keys     map[string]*granted
	due      queue // those that are active
	ended    line  // the others
	fence    uint64
	requests uint64
	changes  atomic.Uint64
	freed    func(*Proxy)
}

// NewMemory returns an empty store.
func NewMemory(o Options) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = NewID
	}
	if o.Windows == (Windows{}) {
		o.Windows = DefaultWindows()
	}
	if o.Most == 0 {
		o.Most = 250_000
	}
	return &Memory{
		Options: o, members: map[string]*member{}, names: map[string][]*member{}, pairs: pairs{}, pools: map[string]*pool{},
		rests: rests{}, granted: map[string]*granted{}, sessions: map[string]*granted{}, keys: map[string]*granted{},
		freed: func(*Proxy) {},
	}
}

var _ Store = (*Memory)(nil)

// Watch lets f know of each proxy that may take leases which it could not take before;
// nil stands for any. It is called with the store locked, and asks it nothing.
func (s *Memory) Watch(f func(*Proxy)) { s.freed = f }

// Changes grows with everything that time alone does not do to what State returns.
func (s *Memory) Changes() uint64 { return s.changes.Load() }

// Set implements Store. The attributes are not changed afterwards.
func (s *Memory) Set(_ context.Context, p Proxy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[p.UID]
	if m != nil && !m.untold && same(m.Proxy, &p) {
		return nil
	}
	now := s.expire()
	if m == nil {
		s.add(&p)
	} else {
		s.change(m, &p, now)
	}
	if p.Healthy {
		s.freed(&p)
	}
	return nil
}

// same says whether nothing is new about a proxy.
func same(a, b *Proxy) bool {
	return sameOrder(a, b) && a.UID == b.UID && a.Instance == b.Instance && a.Address == b.Address &&
		a.Healthy == b.Healthy && a.Capacity == b.Capacity && a.PerTarget == b.PerTarget
}

// sameOrder says whether a change leaves a proxy at its place in the same pools.
func sameOrder(a, b *Proxy) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && a.LatencyMillis == b.LatencyMillis &&
		maps.Equal(a.Attributes, b.Attributes)
}

// add puts a new proxy into the pools that match it.
func (s *Memory) add(p *Proxy) *member {
	m := &member{Proxy: p, slot: len(s.members), counts: map[string]int{}, leases: map[string]*granted{}}
	if n := len(s.slots); n > 0 { // so that the tables of pools stay short
		m.slot, s.slots = s.slots[n-1], s.slots[:n-1]
	}
	if p.Healthy {
		m.fit = s.Now()
	}
	s.members[p.UID] = m
	s.place(m)
	return m
}

func (s *Memory) change(m *member, p *Proxy, now time.Time) {
	if m.Address != p.Address {
		s.rests.clear(m)
		s.changes.Add(1)
	}
	replaced := m.Instance != p.Instance
	if replaced {
		s.lose(m, now)
	}
	if m.fit = m.since(replaced, now); !p.Healthy {
		m.fit = time.Time{}
	}
	m.untold = false
	if !sameOrder(m.Proxy, p) {
		s.unplace(m)
		m.Proxy = p
		s.place(m)
		return
	}
	for _, pool := range m.pools {
		pool.exit(m)
	}
	m.Proxy = p
	for _, pool := range m.pools {
		pool.enter(m)
	}
}

// place puts a member into what finds it by name and selector.
func (s *Memory) place(m *member) {
	s.names[m.name()] = append(s.names[m.name()], m)
	s.pairs.put(m)
	for _, p := range s.pools {
		if p.Matches(m.Proxy) {
			p.join(m)
		}
	}
}

func (s *Memory) unplace(m *member) {
	for _, p := range slices.Clone(m.pools) {
		p.part(m)
	}
	s.pairs.drop(m)
	name := m.name()
	s.names[name] = slices.DeleteFunc(s.names[name], func(other *member) bool { return other == m })
	if len(s.names[name]) == 0 {
		delete(s.names, name)
	}
}

// lose ends the leases of an instance that is no more.
func (s *Memory) lose(m *member, now time.Time) {
	for _, g := range m.leases {
		s.end(g, now)
	}
	m.era.Add(1)
	s.changes.Add(1)
}

// Remove implements Store.
func (s *Memory) Remove(_ context.Context, uid string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	m := s.members[uid]
	if m == nil {
		return nil
	}
	s.lose(m, now)
	s.rests.clear(m)
	s.unplace(m)
	delete(s.members, uid)
	s.slots = append(s.slots, m.slot)
	return nil
}

// Renew implements Store.
func (s *Memory) Renew(_ context.Context, id string, ttl time.Duration) (Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	g := s.find(id, now)
	switch {
	case g == nil:
		return Lease{}, ErrUnknown
	case g.gone():
		return Lease{}, ErrProxyGone
	case !g.active:
		return Lease{}, ErrUnknown
	}
	before := g.expires
	g.expires, g.ttl = now.Add(ttl), ttl
	s.changes.Add(1)
	heap.Fix(&s.due, g.place)
	g.member.until(g.expires)
	if g.expires.Before(before) { // who waits for its end waits too long
		s.freed(g.member.Proxy)
	}
	l := g.lease()
	l.CoolingUntil = s.rests.of(g.member, g.target, now)
	return l, nil
}

// Release implements Store.
func (s *Memory) Release(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	if g := s.granted[id]; g != nil && g.active {
		s.end(g, now)
		s.changes.Add(1)
	}
	return nil
}

// Report implements Store.
func (s *Memory) Report(_ context.Context, id string, result Result, target string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	g := s.find(id, now)
	if g == nil {
		return ErrUnknown
	}
	m := s.members[g.proxy.UID]
	if result == OK || m == nil || m.Address != g.proxy.Address {
		return nil
	}
	if target == "" {
		target = g.target
	}
	s.changes.Add(1)
	s.rests.begin(m, target, now, s.Windows)
	s.rests.spare(s.pool(g.shape.Selector), target, m, now, func(m *member) { s.freed(m.Proxy) })
	return nil
}

// Counts implements Store.
func (s *Memory) Counts(context.Context) (map[string]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	counts := map[string]int{}
	for uid, m := range s.members {
		if m.active > 0 {
			counts[uid] = m.active
		}
	}
	return counts, nil
}

// Use implements Store.
func (s *Memory) Use(_ context.Context, uid string) (Use, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	m := s.members[uid]
	if m == nil {
		return Use{}, nil
	}
	return m.use(now), nil
}
