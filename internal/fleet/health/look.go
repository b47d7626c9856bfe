package health

import "time"

// Look is all that is known of a proxy's probes, for people.
type Look struct {
	Check Check
	// Last is the result of the probe that ended at At; its Class is empty before the
	// first. InRow is how many results in a row were good, or bad, as the last one is.
	Last  Result
	At    time.Time
	InRow int
	// Next is when the next probe begins; zero while one is under way.
	Next time.Time
	// Suspended is since when no verdict turns bad; zero when verdicts are not held.
	Suspended time.Time
}

// Look returns what is known of a proxy's probes, false for one that is not probed.
func (e *Engine) Look(key string) (Look, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.states[key]
	if s == nil {
		return Look{}, false
	}
	l := Look{Check: s.proxy.Check, Last: s.record.last, At: s.record.at, InRow: s.record.ok + s.record.failed}
	if s.place >= 0 {
		l.Next = s.next
	}
	l.Suspended = e.heldSince()
	return l, true
}

// Suspended returns since when no verdict turns bad, the zero time when verdicts are
// not held.
func (e *Engine) Suspended() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heldSince()
}

func (e *Engine) heldSince() time.Time {
	if e.held {
		return e.heldAt
	}
	return time.Time{}
}
