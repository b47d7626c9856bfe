package lease

import "time"

// refuse says why nobody of the pool suits. What is excluded was not asked for. It looks
// at those that have room only: they were looked at already.
func (s *Memory) refuse(p *pool, r Request, now time.Time) *NoMatchError {
	e := &NoMatchError{Considered: len(p.members), Unhealthy: len(p.members) - p.healthy, AtCapacity: p.healthy - p.open}
	left := s.named(r.Exclude)
	for m := range left {
		switch {
		case !p.has(m):
			continue
		case !m.Healthy:
			e.Unhealthy--
		case !m.open():
			e.AtCapacity--
		}
		e.Considered--
	}
	var first time.Time
	for m := range p.inOrderOpen {
		if left[m] {
			continue
		}
		if until := s.rests.of(m, r.Target, now); !m.full(r.Target) && !until.IsZero() {
			e.InCooldown++
			first = sooner(first, until)
			continue
		}
		e.AtCapacity++ // for the target, or the store is full
	}
	if e.AtCapacity > 0 {
		first = sooner(first, p.firstEnd(now))
	}
	if s.full() {
		first = sooner(first, s.due[0].expires)
	}
	if !first.IsZero() {
		e.RetryAfter = first.Sub(now)
	}
	return e
}

// named are the members with one of these names, "namespace/name".
func (s *Memory) named(names []string) map[*member]bool {
	if len(names) == 0 {
		return nil
	}
	members := make(map[*member]bool, len(names))
	for _, name := range names {
		for _, m := range s.names[name] {
			members[m] = true
		}
	}
	return members
}

// full says whether there are as many leases as may be.
func (s *Memory) full() bool { return len(s.due) >= s.Most }
