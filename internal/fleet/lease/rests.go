package lease

import (
	"cmp"
	"strings"
	"time"
)

// MaxTargets is for how many targets a proxy may rest at once, every target being one
// more. One more than that ends the rest that ends first.
const MaxTargets = 256

// capFrom is how many proxies a pool has at least for which cooldowns are capped.
const capFrom = 8

// rests are cooldowns by target; "" is every target. Each is with its member too.
type rests map[string]map[*member]*cooldown

// of returns until when a member rests for a target, zero if it does not.
func (rs rests) of(m *member, target string, now time.Time) (until time.Time) {
	if len(m.rests) == 0 {
		return until
	}
	for _, key := range [...]string{"", target} {
		if c := m.rests[key]; c != nil && now.Before(c.until) && c.until.After(until) {
			until = c.until
		}
	}
	return until
}

// put gives a member a cooldown.
func (rs rests) put(m *member, target string, c cooldown) {
	if m.rests == nil {
		m.rests = map[string]*cooldown{}
	}
	if rs[target] == nil {
		rs[target] = map[*member]*cooldown{}
	}
	m.rests[target], rs[target][m] = &c, &c
}

func (rs rests) drop(m *member, target string) {
	delete(m.rests, target)
	if delete(rs[target], m); len(rs[target]) == 0 {
		delete(rs, target)
	}
}

// clear drops all that a member has.
func (rs rests) clear(m *member) {
	for target := range m.rests {
		rs.drop(m, target)
	}
}

// begin begins or prolongs a cooldown.
func (rs rests) begin(m *member, target string, now time.Time, w Windows) {
	c := m.rests[target]
	if c == nil && len(m.rests) >= MaxTargets {
		rs.drop(m, m.firstRest())
	}
	if c == nil {
		c = &cooldown{}
	}
	rs.put(m, target, c.after(now, w))
}

// firstRest is the target whose cooldown ends, or ended, first.
func (m *member) firstRest() (first string) {
	var until time.Time
	for target, c := range m.rests {
		if by := c.until.Compare(until); until.IsZero() || by < 0 || by == 0 && target < first {
			first, until = target, c.until
		}
	}
	return first
}

// spare lets members of a pool out of their rest for a target, those that end first,
// until at most three quarters of the pool rest for it; just is the one whose rest
// began last, and goes on. It looks at the fewer of the pool and those that rest.
func (rs rests) spare(p *pool, target string, just *member, now time.Time, out func(*member)) {
	size := len(p.members)
	if size < capFrom || 4*len(rs[target]) <= 3*size {
		return
	}
	for {
		n, first := rs.count(p, target, just, now)
		if 4*n <= 3*size || first == nil {
			return
		}
		first.rests[target].until = now
		out(first)
	}
}

// count counts the members of a pool that rest for a target, and returns the one of
// them that ends first, other than just.
func (rs rests) count(p *pool, target string, just *member, now time.Time) (n int, first *member) {
	look := func(m *member, c *cooldown) {
		if c == nil || !now.Before(c.until) || !p.has(m) {
			return
		}
		if n++; m != just && (first == nil || endsBefore(target, m, first)) {
			first = m
		}
	}
	if resting := rs[target]; len(resting) <= len(p.members) {
		for m, c := range resting {
			look(m, c)
		}
		return n, first
	}
	for _, m := range p.members {
		look(m, m.rests[target])
	}
	return n, first
}

func endsBefore(target string, a, b *member) bool {
	return cmp.Or(a.rests[target].until.Compare(b.rests[target].until), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID)) < 0
}
