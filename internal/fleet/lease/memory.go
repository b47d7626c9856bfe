package lease

import (
	"container/heap"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"
)

// maxPools bounds the indexes that are kept for selectors.
const maxPools = 256

// Options of a store.
type Options struct {
	// Now is the time.
	Now func() time.Time
	// NewID makes IDs of leases, as Lease.ID wants them; none comes twice. [NewID] by
	// default.
	NewID func() string
	// Windows are [DefaultWindows] by default.
	Windows Windows
}

// NewID returns 128 bits of the system's randomness.
func NewID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// Memory is a Store of one process.
type Memory struct {
	Options

	mu       sync.Mutex
	members  map[string]*member // by UID
	slots    []int              // free ones
	pools    map[string]*pool   // by canonical selector
	granted  map[string]*granted
	sessions map[string]*granted // the last of a session and selector
	keys     map[string]*granted
	due      queue     // those that are active
	ended    list.List // the others, in order of their ends
	fence    uint64
	requests uint64
}

// granted is a lease, active or ended and still to be reported about.
type granted struct {
	Lease
	member  *member
	active  bool
	era     int // of its member
	request Request
	session string
	place   int // in the queue of those that are active
}

// NewMemory returns an empty store.
func NewMemory(o Options) *Memory {
	if o.NewID == nil {
		o.NewID = NewID
	}
	if o.Windows == (Windows{}) {
		o.Windows = DefaultWindows()
	}
	return &Memory{
		Options: o, members: map[string]*member{}, pools: map[string]*pool{}, granted: map[string]*granted{},
		sessions: map[string]*granted{}, keys: map[string]*granted{},
	}
}

var _ Store = (*Memory)(nil)

// Set implements Store.
func (s *Memory) Set(_ context.Context, p Proxy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[p.UID]
	if m == nil {
		m = newMember(p, s.slot())
		s.members[p.UID] = m
		s.place(m)
		return nil
	}
	if same(m.Proxy, p) {
		return nil
	}
	if m.Address != p.Address {
		m.cooling = nil
	}
	if m.Instance != p.Instance {
		s.lose(m, s.expire())
	}
	for _, pool := range slices.Clone(m.pools) {
		pool.exit(m)
		pool.part(m)
	}
	m.Proxy = p
	s.place(m)
	return nil
}

// same says whether nothing is new about a proxy.
func same(a, b Proxy) bool {
	return a.UID == b.UID && a.Namespace == b.Namespace && a.Name == b.Name && a.Instance == b.Instance &&
		a.Address == b.Address && a.LatencyMillis == b.LatencyMillis && a.Healthy == b.Healthy &&
		a.Capacity == b.Capacity && a.PerTarget == b.PerTarget && maps.Equal(a.Attributes, b.Attributes)
}

// lose ends the leases of an instance that is no more.
func (s *Memory) lose(m *member, now time.Time) {
	for _, g := range m.leases {
		g.ExpiresAt = now
		s.end(g)
	}
	m.era++
}

// slot returns the lowest free one, so that the tables of pools stay short.
func (s *Memory) slot() int {
	if n := len(s.slots); n > 0 {
		last := s.slots[n-1]
		s.slots = s.slots[:n-1]
		return last
	}
	return len(s.members)
}

// place puts a member into the pools that match it.
func (s *Memory) place(m *member) {
	for _, p := range s.pools {
		if p.selector.Matches(&m.Proxy) {
			p.join(m)
		}
	}
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
	for _, p := range slices.Clone(m.pools) {
		p.exit(m)
		p.part(m)
	}
	delete(s.members, uid)
	s.slots = append(s.slots, m.slot)
	return nil
}

// Acquire implements Store.
func (s *Memory) Acquire(_ context.Context, r Request) (Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	if g := s.keys[r.Key]; g != nil && r.Key != "" {
		if !sameRequest(g.request, r) {
			return Lease{}, ErrReused
		}
		return g.Lease, nil
	}
	p := s.pool(r.Selector)
	suits := func(m *member) bool {
		return !m.full(r.Target) && m.rests(r.Target, now).IsZero() && !excluded(r.Exclude, m)
	}
	m, rebound := s.bound(r, p, suits)
	if m == nil {
		m = p.first(suits)
	}
	if m == nil {
		return Lease{}, p.refuse(r, now)
	}
	g := s.grant(m, r, now)
	g.Rebound = rebound
	return g.Lease, nil
}

func sameRequest(a, b Request) bool {
	return a.Body == b.Body && a.Target == b.Target && a.Session == b.Session && a.TTL == b.TTL &&
		a.Selector.canonical() == b.Selector.canonical() && slices.Equal(a.Exclude, b.Exclude)
}

func excluded(names []string, m *member) bool {
	return len(names) > 0 && slices.Contains(names, m.Namespace+"/"+m.Name)
}

// pool returns the index of a selector, perhaps a new one in place of the one that was
// not asked for the longest.
func (s *Memory) pool(sel Selector) *pool {
	key := sel.canonical()
	s.requests++
	p := s.pools[key]
	if p == nil {
		p = &pool{selector: sel}
		members := make([]*member, 0, len(s.members))
		for _, m := range s.members {
			if sel.Matches(&m.Proxy) {
				members = append(members, m)
			}
		}
		p.fill(members)
		s.forget()
		s.pools[key] = p
	}
	p.used = s.requests
	return p
}

// forget makes room for one more pool.
func (s *Memory) forget() {
	if len(s.pools) < maxPools {
		return
	}
	var oldest string
	for key, p := range s.pools {
		if q := s.pools[oldest]; q == nil || p.used < q.used {
			oldest = key
		}
	}
	for _, m := range s.pools[oldest].members {
		m.pools = slices.DeleteFunc(m.pools, func(p *pool) bool { return p == s.pools[oldest] })
	}
	delete(s.pools, oldest)
}

// bound returns the proxy that a session had, if it is fit; rebound says that it had
// one that is not.
func (s *Memory) bound(r Request, p *pool, suits func(*member) bool) (m *member, rebound bool) {
	if r.Session == "" {
		return nil, false
	}
	g := s.sessions[sessionKey(r)]
	if g == nil {
		return nil, false
	}
	if m = g.member; !g.gone() && m.open() && slices.Contains(m.pools, p) && suits(m) {
		return m, false
	}
	return nil, true
}

func sessionKey(r Request) string { return r.Session + "\x00\x00" + r.Selector.canonical() }

func (s *Memory) grant(m *member, r Request, now time.Time) *granted {
	s.fence++
	g := &granted{
		active: true, member: m, era: m.era, request: r,
		ID: s.NewID(), Proxy: m.Proxy, Target: r.Target, TTL: r.TTL, ExpiresAt: now.Add(r.TTL), Fence: s.fence,
	}
	s.granted[g.ID], m.leases[g.ID] = g, g
	m.count(+1, r.Target)
	heap.Push(&s.due, g)
	if r.Session != "" {
		g.session = sessionKey(r)
		s.sessions[g.session] = g
	}
	if r.Key != "" {
		s.keys[r.Key] = g
	}
	return g
}

// Renew implements Store.
func (s *Memory) Renew(_ context.Context, id string, ttl time.Duration) (Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	g := s.granted[id]
	switch {
	case g == nil:
		return Lease{}, ErrUnknown
	case g.gone():
		return Lease{}, ErrProxyGone
	case !g.active:
		return Lease{}, ErrUnknown
	}
	g.ExpiresAt, g.TTL = now.Add(ttl), ttl
	heap.Fix(&s.due, g.place)
	return g.Lease, nil
}

// Release implements Store.
func (s *Memory) Release(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	if g := s.granted[id]; g != nil && g.active {
		g.ExpiresAt = now
		s.end(g)
	}
	return nil
}

// end gives the proxy back; the lease can still be reported about.
func (s *Memory) end(g *granted) {
	g.active = false
	heap.Remove(&s.due, g.place)
	s.ended.PushBack(g)
	delete(g.member.leases, g.ID)
	g.member.count(-1, g.Target)
	if s.keys[g.request.Key] == g {
		delete(s.keys, g.request.Key)
	}
}

// Report implements Store.
func (s *Memory) Report(_ context.Context, id string, result Result, target string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.expire()
	g := s.granted[id]
	if g == nil {
		return ErrUnknown
	}
	if target == "" {
		target = g.Target
	}
	if m := s.members[g.Proxy.UID]; m != nil && result != OK && m.Address == g.Proxy.Address {
		m.rest(target, now, s.Windows)
	}
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

// gone says whether its proxy is, or is another instance.
func (g *granted) gone() bool { return g.era != g.member.era }

// expire ends what ends by time, and returns the time.
func (s *Memory) expire() time.Time {
	now := s.Now()
	for len(s.due) > 0 && !now.Before(s.due[0].ExpiresAt) {
		s.end(s.due[0])
	}
	for e := s.ended.Front(); e != nil; e = s.ended.Front() {
		g := e.Value.(*granted)
		if now.Before(g.ExpiresAt.Add(s.Windows.Cooldown)) {
			break
		}
		s.ended.Remove(e)
		delete(s.granted, g.ID)
		if s.sessions[g.session] == g {
			delete(s.sessions, g.session)
		}
	}
	return now
}
