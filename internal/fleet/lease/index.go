package lease

import "slices"

// maxPools bounds the indexes that are kept for selectors.
const maxPools = 256

// pairs are the members that have an attribute, or are in a namespace. The index of a
// selector that is new is made from the fewest.
type pairs map[[2]string]map[*member]struct{}

// pairs yields what a proxy is found by: its attributes, its namespace, and nothing.
func (p *Proxy) pairs(yield func([2]string) bool) {
	for key, value := range p.Attributes {
		if !yield([2]string{key, value}) {
			return
		}
	}
	_ = yield([2]string{"", p.Namespace}) && yield([2]string{})
}

func (ps pairs) put(m *member) {
	for pair := range m.pairs {
		if ps[pair] == nil {
			ps[pair] = map[*member]struct{}{}
		}
		ps[pair][m] = struct{}{}
	}
}

func (ps pairs) drop(m *member) {
	for pair := range m.pairs {
		if delete(ps[pair], m); len(ps[pair]) == 0 {
			delete(ps, pair)
		}
	}
}

// matching returns the members that a selector matches.
func (ps pairs) matching(sel Selector) (members []*member) {
	fewest := ps[[2]string{"", sel.Namespace}]
	for key, value := range sel.Attributes {
		if found := ps[[2]string{key, value}]; len(found) < len(fewest) {
			fewest = found
		}
	}
	for m := range fewest {
		if sel.Matches(m.Proxy) {
			members = append(members, m)
		}
	}
	return members
}

// pool returns the index of a selector, perhaps a new one in place of the one that was
// not asked for the longest. One that has nobody is not kept: there may be many.
func (s *Memory) pool(sel Selector) *pool {
	name := sel.canonical()
	s.requests++
	p := s.pools[name]
	if p == nil {
		p = &pool{shape: &shape{sel, name}}
		members := s.pairs.matching(sel)
		if len(members) == 0 {
			return p
		}
		s.forget()
		p.fill(members)
		s.pools[name] = p
	}
	p.used = s.requests
	return p
}

// forget makes room for one more pool.
func (s *Memory) forget() {
	if len(s.pools) < maxPools {
		return
	}
	var oldest *pool
	for _, p := range s.pools {
		if oldest == nil || p.used < oldest.used {
			oldest = p
		}
	}
	for _, m := range oldest.members {
		m.pools = slices.DeleteFunc(m.pools, func(p *pool) bool { return p == oldest })
	}
	delete(s.pools, oldest.name)
}
