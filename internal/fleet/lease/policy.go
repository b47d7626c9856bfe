package lease

import (
	"math/rand/v2"
	"time"
)

// Policy says which of the proxies that suit is granted. Those with fewer leases are
// fitter, then those with the lower latency, then by namespace and name.
type Policy string

// Policies.
const (
	// LeastLeases grants the fittest.
	LeastLeases Policy = "least-leases"
	// SlowStart is LeastLeases, but a proxy that became healthy less than [Start] ago is
	// passed over while it has more than its share: the average of those that the selector
	// matches and that are healthy, times its age's part of Start. Where nobody else
	// suits it is granted all the same.
	SlowStart Policy = "slow-start"
	// BestOfTwo grants the fitter of two that suit, drawn at random.
	BestOfTwo Policy = "best-of-two"
)

// Policies are all of them, the default first.
func Policies() []Policy { return []Policy{LeastLeases, SlowStart, BestOfTwo} }

// Start is how long a proxy starts slowly.
const Start = time.Minute

// pick returns one that suits, by the policy of the store, or nil.
func (s *Memory) pick(p *pool, suits func(*member) bool, now time.Time) *member {
	switch s.Policy {
	case SlowStart:
		if m := p.first(func(m *member) bool { return !p.hasShare(m, now) && suits(m) }); m != nil {
			return m
		}
	case BestOfTwo:
		return p.fitterOfTwo(suits)
	case LeastLeases:
	}
	return p.first(suits)
}

// hasShare says whether a member that became healthy not long ago has more than its
// share of the pool's leases.
func (p *pool) hasShare(m *member, now time.Time) bool {
	age := now.Sub(m.fit)
	return age < Start && float64(m.active)*float64(p.healthy)*Start.Seconds() > float64(p.leases)*age.Seconds()
}

// draws is how often members are drawn before all that have room are looked at.
const draws = 16

// fitterOfTwo returns the fitter of two different members that suit, each pair being
// as likely as another; the only one if there is but one, and nil without.
func (p *pool) fitterOfTwo(suits func(*member) bool) *member {
	var one *member
	for range min(draws, p.open*draws) {
		m := p.members[rand.IntN(len(p.members))]
		if !m.open() || m == one || !suits(m) {
			continue
		}
		if one != nil {
			return fitter(one, m)
		}
		one = m
	}
	return p.twoOfAll(suits)
}

// twoOfAll draws two of those that suit, and returns the fitter.
func (p *pool) twoOfAll(suits func(*member) bool) *member {
	var all []*member
	for m := range p.inOrderOpen {
		if suits(m) {
			all = append(all, m)
		}
	}
	switch n := len(all); n {
	case 0:
		return nil
	case 1:
		return all[0]
	default: // all are in order: the fitter is the earlier
		i, j := rand.IntN(n), rand.IntN(n-1)
		if j >= i {
			j++
		}
		return all[min(i, j)]
	}
}

func fitter(a, b *member) *member {
	if a.active < b.active || a.active == b.active && inOrder(a, b) < 0 {
		return a
	}
	return b
}
