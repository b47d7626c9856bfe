package acceptance

// finer is by how much the parts that leavePartOut tries shrink from one pass to the
// next: all passes together take at most half as many trials again as the last alone.
const finer = 4

// leavePartOut tries groups without a part of them, larger parts first and at last
// each group alone, and reports whether that advanced; what was left out is then
// searched from there. So few trials do where what is required and what is at fault
// are in different parts, and none less than one for each group where nothing else helps.
func (s *search) leavePartOut(groups []group) bool {
	for parts := 2; len(groups) > 1; parts *= finer {
		size := max(1, (len(groups)+parts-1)/parts)
		if s.leaveOut(groups, size) {
			return true
		}
		if size == 1 || s.stopped() {
			return false
		}
	}
	return false
}

// leaveOut tries groups without each run of so many of them, the youngest first.
func (s *search) leaveOut(groups []group, size int) bool {
	for start := (len(groups) - 1) / size * size; start >= 0 && !s.stopped(); start -= size {
		part := groups[start:min(start+size, len(groups))]
		rest := append(append([]group{}, groups[:start]...), groups[start+len(part):]...)
		t := s.try(rest)
		if !t.ok {
			continue
		}
		s.advance(t, rest)
		if len(part) > 1 || !s.isWithheld(part[0]) {
			s.halve(part, false)
		}
		return true
	}
	return false
}
