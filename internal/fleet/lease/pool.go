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
	selector Selector
	members  []*member
	ranks    []int32  // by a member's slot: its place in members, from 1; 0 is not in it
	levels   []bitset // by number of leases, of places in members
	used     uint64   // when it was last asked, by the store's count of requests
}

// bitset has as many words as its highest bit needs, or more.
type bitset []uint64

func (b *bitset) set(i int) {
	for len(*b) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitset) clear(i int) {
	if i/64 < len(b) {
		b[i/64] &^= 1 << (i % 64)
	}
}

// insert makes room for a bit at i, which is clear; the bits from there move up.
func (b *bitset) insert(i int) {
	w := i / 64
	if w >= len(*b) {
		return
	}
	if (*b)[len(*b)-1]>>63 == 1 {
		*b = append(*b, 0)
	}
	for j := len(*b) - 1; j > w; j-- {
		(*b)[j] = (*b)[j]<<1 | (*b)[j-1]>>63
	}
	low := uint64(1)<<(i%64) - 1
	(*b)[w] = (*b)[w]&low | (*b)[w]&^low<<1
}

// remove takes the bit at i out; the bits after it move down.
func (b bitset) remove(i int) {
	w := i / 64
	if w >= len(b) {
		return
	}
	low := uint64(1)<<(i%64) - 1
	b[w] = b[w]&low | b[w]>>1&^low
	for j := w + 1; j < len(b); j++ {
		b[j-1] |= b[j] << 63
		b[j] >>= 1
	}
}

// join puts a member in its place.
func (p *pool) join(m *member) {
	at, _ := slices.BinarySearchFunc(p.members, m, inOrder)
	p.members = slices.Insert(p.members, at, m)
	for i := range p.levels {
		p.levels[i].insert(at)
	}
	for len(p.ranks) <= m.slot {
		p.ranks = append(p.ranks, 0)
	}
	p.rerank(at)
	m.pools = append(m.pools, p)
	if m.open() {
		p.enter(m)
	}
}

// part takes a member out.
func (p *pool) part(m *member) {
	at := p.rank(m)
	for i := range p.levels {
		p.levels[i].remove(at)
	}
	p.members = slices.Delete(p.members, at, at+1)
	p.ranks[m.slot] = 0
	p.rerank(at)
	m.pools = slices.DeleteFunc(m.pools, func(q *pool) bool { return p == q })
}

func (p *pool) rerank(from int) {
	for i := from; i < len(p.members); i++ {
		p.ranks[p.members[i].slot] = int32(i + 1)
	}
}

func (p *pool) rank(m *member) int { return int(p.ranks[m.slot]) - 1 }

// enter and exit are for members that could, and can no more, take a lease at their
// present number.
func (p *pool) enter(m *member) {
	for len(p.levels) <= m.active {
		p.levels = append(p.levels, nil)
	}
	p.levels[m.active].set(p.rank(m))
}

func (p *pool) exit(m *member) {
	if m.active < len(p.levels) {
		p.levels[m.active].clear(p.rank(m))
	}
}

// inOrder is the order between members with as many leases.
func inOrder(a, b *member) int {
	return cmp.Or(cmp.Compare(a.LatencyMillis, b.LatencyMillis), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
}

// first returns the fittest member that suits, or nil.
func (p *pool) first(suits func(*member) bool) *member {
	for _, level := range p.levels {
		for i, word := range level {
			for ; word != 0; word &= word - 1 {
				if m := p.members[i*64+bits.TrailingZeros64(word)]; suits(m) {
					return m
				}
			}
		}
	}
	return nil
}

// fill puts members into an empty pool, as if they had joined one by one.
func (p *pool) fill(members []*member) {
	slices.SortFunc(members, inOrder)
	p.members = members
	for _, m := range members {
		for len(p.ranks) <= m.slot {
			p.ranks = append(p.ranks, 0)
		}
	}
	p.rerank(0)
	for _, m := range members {
		m.pools = append(m.pools, p)
		if m.open() {
			p.enter(m)
		}
	}
}

// refuse says why nobody suits. What is excluded was not asked for.
func (p *pool) refuse(r Request, now time.Time) *NoMatchError {
	e := &NoMatchError{}
	for _, m := range p.members {
		if excluded(r.Exclude, m) {
			continue
		}
		e.Considered++
		var wait time.Duration
		switch until := m.rests(r.Target, now); {
		case !m.Healthy:
			e.Unhealthy++
		case !m.open() || m.full(r.Target):
			e.AtCapacity++
			wait = m.firstEnd().Sub(now)
		default:
			e.InCooldown++
			wait = until.Sub(now)
		}
		if wait > 0 && (e.RetryAfter == 0 || wait < e.RetryAfter) {
			e.RetryAfter = wait
		}
	}
	return e
}
