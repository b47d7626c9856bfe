package index

import (
	"slices"
	"strings"
)

// contest is between the Services that claim one form: the first by rank serves it.
type contest struct {
	claimants []*service // by rank
}

func (c *contest) winner() *service { return c.claimants[0] }

func (c *contest) find(r rank) (int, bool) {
	return slices.BinarySearchFunc(c.claimants, r, func(s *service, r rank) int { return s.claim.rank.compare(r) })
}

// enter lets a Service claim its form; it may do so already.
func (e *edit) enter(s *service) {
	c, ok := e.contests[s.claim.form]
	if !ok {
		c = &contest{}
		e.contests[s.claim.form] = c
		e.spell(s.claim.deployment)
	}
	i, entered := c.find(s.claim.rank)
	if entered {
		return
	}
	if i == 0 && len(c.claimants) > 0 { // who served it, does not any more
		e.tell(c.winner())
		e.leaves(c.winner())
	}
	c.claimants = slices.Insert(c.claimants, i, s)
}

// withdraw ends the claim of a Service. Its sessions were said to leave before.
func (e *edit) withdraw(s *service) {
	c := e.contests[s.claim.form]
	i, _ := c.find(s.claim.rank)
	c.claimants = slices.Delete(c.claimants, i, i+1)
	switch {
	case len(c.claimants) == 0:
		delete(e.contests, s.claim.form)
		e.unspell(s.claim.deployment)
	case i == 0:
		e.tell(c.winner())
	}
}

// spell and unspell keep the names that are claimed, in either form.
func (e *edit) spell(name string) {
	lower := strings.ToLower(name)
	names := e.spelled[lower]
	if i, ok := slices.BinarySearch(names, name); !ok {
		e.spelled[lower] = slices.Insert(names, i, name)
	}
}

func (e *edit) unspell(name string) {
	if e.claimed(name) {
		return
	}
	lower := strings.ToLower(name)
	names := e.spelled[lower]
	i, _ := slices.BinarySearch(names, name)
	if names = slices.Delete(names, i, i+1); len(names) == 0 {
		delete(e.spelled, lower)
		return
	}
	e.spelled[lower] = names
}

// claimed tells whether a Service claims a deployment, in either form.
func (x *Index) claimed(name string) bool {
	for _, pooled := range []bool{false, true} {
		if _, ok := x.contests[form{name, pooled}]; ok {
			return true
		}
	}
	return false
}
