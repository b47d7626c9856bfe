package proxy

import (
	"container/list"
	"time"
)

// Limits are how many connections a Server serves; zero fields have defaults.
//
// An accepted connection is pending until its handler calls Admit, and counts
// against Pending only. If that budget is spent, a new connection takes the place
// of the oldest pending one that has sent nothing for SilentGrace, else of the one
// that spoke first, once it has been pending for SpokenGrace; else it waits,
// and the rest wait in the kernel's queue. So sockets that say nothing cost a
// client that speaks at most a short delay, and a crowd that reconnects is served
// in turn and not turned away half-way.
//
// While Connections are admitted, Extra takes the place of Pending, and who finds
// it spent is closed at once instead of waiting.
type Limits struct {
	// Connections are the admitted connections at most; 0 is unlimited.
	Connections int
	// Extra are the connections beyond, just to be told why they are not admitted
	// or served without being counted; default 64, negative for none.
	Extra int
	// Pending are the connections at most whose startup is not over; default 1024.
	Pending int
	// SilentGrace and SpokenGrace are how long a pending connection keeps its place
	// whatever happens; defaults 250 ms and 3 s.
	SilentGrace, SpokenGrace time.Duration
}

func (l Limits) withDefaults() Limits {
	or := func(n *int, d int) {
		if *n == 0 {
			*n = d
		}
	}
	or(&l.Extra, 64)
	or(&l.Pending, 1024)
	if l.SilentGrace == 0 {
		l.SilentGrace = 250 * time.Millisecond
	}
	if l.SpokenGrace == 0 {
		l.SpokenGrace = 3 * time.Second
	}
	return l
}

// place is where a connection stands in the ledger.
type place uint8

const (
	gone place = iota
	silent
	spoken
	admitted
)

// entry is one connection in the ledger.
type entry[C any] struct {
	conn    C
	since   time.Time
	place   place
	refused bool // admit has said no
	element *list.Element
}

// ledger counts connections by place. It is not safe for concurrent use.
type ledger[C any] struct {
	limits   Limits
	admitted int
	pending  [spoken + 1]list.List // of *entry[C], oldest first; silent and spoken
}

// arrival is what to do with a new connection.
type arrival[C any] struct {
	entry  *entry[C]     // it has entered; nil if not
	evict  *entry[C]     // who has left for it; nil for nobody
	refuse bool          // close it
	wait   time.Duration // ask again when somebody leaves, or after this
}

// arrive lets a connection enter, if there is room. heard tells of one that is
// believed to be silent whether bytes of it wait to be read.
func (l *ledger[C]) arrive(conn C, now time.Time, heard func(C) bool) arrival[C] {
	budget, full := l.limits.Pending, l.full()
	if full {
		budget = min(budget, max(l.limits.Extra, 0))
	}
	var evict *entry[C]
	var wait time.Duration
	if over := l.waiting() - budget; over >= 0 {
		if over == 0 {
			evict, wait = l.weakest(now, heard)
		}
		if evict == nil {
			return arrival[C]{refuse: full, wait: wait}
		}
		l.leave(evict)
	}
	e := &entry[C]{conn: conn, since: now}
	l.move(e, silent)
	return arrival[C]{entry: e, evict: evict}
}

// full reports whether nobody more can be admitted.
func (l *ledger[C]) full() bool {
	return l.limits.Connections > 0 && l.admitted >= l.limits.Connections
}

// waiting is how many are pending.
func (l *ledger[C]) waiting() int { return l.pending[silent].Len() + l.pending[spoken].Len() }

// weakest returns the pending connection that loses its place, or how long all
// of them keep theirs.
func (l *ledger[C]) weakest(now time.Time, heard func(C) bool) (*entry[C], time.Duration) {
	wait := l.limits.SpokenGrace
	for front := l.pending[silent].Front(); front != nil; front = l.pending[silent].Front() {
		e := front.Value.(*entry[C])
		if left := l.limits.SilentGrace - now.Sub(e.since); left > 0 {
			wait = min(wait, left)
			break
		}
		if !heard(e.conn) {
			return e, 0
		}
		l.speak(e)
	}
	if front := l.pending[spoken].Front(); front != nil {
		e := front.Value.(*entry[C])
		left := l.limits.SpokenGrace - now.Sub(e.since)
		if left <= 0 {
			return e, 0
		}
		wait = min(wait, left)
	}
	return nil, wait
}

// speak records that bytes have come from e.
func (l *ledger[C]) speak(e *entry[C]) {
	if e.place == silent {
		l.move(e, spoken)
	}
}

// admit counts e as served from now on, if there is room. The answer stays.
func (l *ledger[C]) admit(e *entry[C]) bool {
	switch {
	case e.place == admitted:
		return true
	case e.place == gone, e.refused:
		return false
	case l.full():
		e.refused = true
		return false
	}
	l.move(e, admitted)
	return true
}

// leave removes e.
func (l *ledger[C]) leave(e *entry[C]) { l.move(e, gone) }

func (l *ledger[C]) move(e *entry[C], to place) {
	switch e.place {
	case silent, spoken:
		l.pending[e.place].Remove(e.element)
	case admitted:
		l.admitted--
	case gone:
	}
	e.place, e.element = to, nil
	switch to {
	case silent, spoken:
		e.element = l.pending[to].PushBack(e)
	case admitted:
		l.admitted++
	case gone:
	}
}
