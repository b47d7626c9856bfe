package lease

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// pool is an index: the proxies that one selector matches, in order of latency and
// name, and for each number of leases a set of those that have that many and could take
// one more. Choosing walks the bits of the lowest sets, and a lease moves one bit in
// each pool of its proxy.
type pool struct {
	*shape
	members []*member
	ranks   []int32 // by a member's slot: its place in members, from 1; 0 is not in it
	levels  []level // by number of leases
	low     int     // levels below it are empty
	used    uint64  // when it was last asked, by the store's count of requests

	healthy, open, leases int       // members that are, and the leases of all
	ends                  time.Time // when the first of those leases ends, or earlier; zero is not known
}

// level are members with one number of leases, as places in the pool.
type level struct {
	bitset
	n int
}

// fill puts members into an empty pool, as if they had joined one by one.
func (p *pool) fill(members []*member) {
	slices.SortFunc(members, inOrder)
	p.members = members
	for _, m := range members {
		p.widen(m)
	}
	p.rerank(0)
	for _, m := range members {
		m.pools = append(m.pools, p)
		p.enter(m)
	}
}

// join puts a member in its place.
func (p *pool) join(m *member) {
	at, _ := slices.BinarySearchFunc(p.members, m, inOrder)
	p.members = slices.Insert(p.members, at, m)
	for i := range p.levels {
		p.levels[i].insert(at)
	}
	p.widen(m)
	p.rerank(at)
	m.pools = append(m.pools, p)
	p.enter(m)
	if !p.ends.IsZero() {
		p.ends = sooner(p.ends, m.ends)
	}
}

// part takes a member out.
func (p *pool) part(m *member) {
	p.exit(m)
	at := p.rank(m)
	for i := range p.levels {
		p.levels[i].remove(at)
	}
	p.members = slices.Delete(p.members, at, at+1)
	p.ranks[m.slot] = 0
	p.rerank(at)
	m.pools = slices.DeleteFunc(m.pools, func(q *pool) bool { return p == q })
}

func (p *pool) widen(m *member) {
	for len(p.ranks) <= m.slot {
		p.ranks = append(p.ranks, 0)
	}
}

func (p *pool) rerank(from int) {
	for i := from; i < len(p.members); i++ {
		p.ranks[p.members[i].slot] = int32(i + 1)
	}
}

func (p *pool) rank(m *member) int { return int(p.ranks[m.slot]) - 1 }

// has says whether the selector matches a member.
func (p *pool) has(m *member) bool { return m.slot < len(p.ranks) && p.ranks[m.slot] > 0 }

// enter counts a member as it is, and exit is before it changes.
func (p *pool) enter(m *member) {
	p.leases += m.active
	if m.Healthy {
		p.healthy++
	}
	if !m.open() {
		return
	}
	p.open++
	for len(p.levels) <= m.active {
		p.levels = append(p.levels, level{})
	}
	p.levels[m.active].set(p.rank(m))
	p.levels[m.active].n++
	p.low = min(p.low, m.active)
}

func (p *pool) exit(m *member) {
	p.leases -= m.active
	if m.Healthy {
		p.healthy--
	}
	if m.open() {
		p.open--
		p.levels[m.active].clear(p.rank(m))
		p.levels[m.active].n--
	}
}

// inOrder is the order between members with as many leases.
func inOrder(a, b *member) int {
	return cmp.Or(cmp.Compare(a.LatencyMillis, b.LatencyMillis), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
}

// inOrderOpen yields the members that could take one more lease, the fittest first.
func (p *pool) inOrderOpen(yield func(*member) bool) {
	for p.low < len(p.levels) && p.levels[p.low].n == 0 {
		p.low++
	}
	for _, l := range p.levels[min(p.low, len(p.levels)):] {
		for i, left := 0, l.n; left > 0; i++ {
			for word := l.bitset[i]; word != 0; word &= word - 1 {
				left--
				if !yield(p.members[i*64+bits.TrailingZeros64(word)]) {
					return
				}
			}
		}
	}
}

// first returns the fittest member that suits, or nil.
func (p *pool) first(suits func(*member) bool) *member {
	for m := range p.inOrderOpen {
		if suits(m) {
			return m
		}
	}
	return nil
}

// firstEnd is when the first lease of its members ends if nobody renews it, or earlier;
// zero if there is none.
func (p *pool) firstEnd(now time.Time) time.Time {
	if p.leases > 0 && p.ends.After(now) {
		return p.ends
	}
	p.ends = time.Time{}
	for _, m := range p.members {
		if end := m.firstEnd(now); !end.IsZero() {
			p.ends = sooner(p.ends, end)
		}
	}
	return p.ends
}

// sooner is the earlier of two times; zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
