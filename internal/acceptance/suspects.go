package acceptance

// few is how many withheld groups are tried one by one: to halve them costs as much.
const few = 2

// amongSuspects searches groups that a refusal named together, since they all went
// into what was refused, and reports whether any advanced.
func (s *search) amongSuspects() (moved bool) {
	suspects := except(s.byAge(), func(g group) bool {
		c := s.withheld[g.identity]
		return !c.suspect || !s.mayBeMended(c)
	})
	if len(suspects) <= few {
		return false
	}
	before := s.advances
	s.halve(suspects, true)
	return s.advances > before
}
