package lease

import "container/list"

// group are the lines of one selector.
type group struct {
	selector Selector
	name     string
	lines    map[string]*turns // by target
}

// turns is a line of requests with the same selector and target. In a round each asks the
// store in turn, from the first on, until one is refused that excludes no proxy: nobody
// behind it would fare better. A round begins with every change: of what is free, of
// who stands in the line, of time.
type turns struct {
	*group
	target  string
	waiters list.List
	turn    *list.Element // whose turn it is; nil between rounds
	again   bool          // something changed in this round
	no      *NoMatchError // how the last one was refused that excludes no proxy
}

// waiter is one that stands in a line.
type waiter struct {
	r       Request
	line    *turns
	at      *list.Element
	patient bool          // or it goes when the round is over
	turn    chan struct{} // it is its turn
	over    chan struct{} // the round ended before its turn
	no      *NoMatchError // how it was refused last
}

// busy says whether others stand in line before a request.
func (w *Waiting) busy(r Request) bool {
	if w.n.Load() == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.groups[r.Selector.canonical()]
	return g != nil && g.lines[r.Target] != nil
}

// join puts a request at the end of its line.
func (w *Waiting) join(r Request, patient bool) (*waiter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if patient {
		if w.patient >= w.o.Most {
			return nil, ErrTooMany
		}
		w.patient++
	}
	w.n.Add(1)
	me := &waiter{r: r, line: w.line(r), patient: patient, turn: make(chan struct{}, 1), over: make(chan struct{}, 1)}
	me.at = me.line.waiters.PushBack(me)
	me.line.round()
	return me, nil
}

// line returns the line of a request, perhaps a new one.
func (w *Waiting) line(r Request) *turns {
	name := r.Selector.canonical()
	g := w.groups[name]
	if g == nil {
		g = &group{selector: r.Selector, name: name, lines: map[string]*turns{}}
		w.groups[name] = g
	}
	if g.lines[r.Target] == nil {
		g.lines[r.Target] = &turns{group: g, target: r.Target}
	}
	return g.lines[r.Target]
}

// leave takes one out of its line. Its turn is the next one's, and if it had none, who is
// behind it may never have asked.
func (w *Waiting) leave(me *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, next := me.line, me.at.Next()
	l.waiters.Remove(me.at)
	w.n.Add(-1)
	if me.patient {
		w.patient--
	}
	if l.turn == me.at {
		l.advance(next)
	} else {
		l.round()
	}
	if l.waiters.Len() > 0 {
		return
	}
	if delete(l.lines, l.target); len(l.lines) == 0 {
		delete(w.groups, l.name)
	}
}

// pass ends one's turn with a refusal.
func (w *Waiting) pass(me *waiter, no *NoMatchError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	me.no = no
	if next := me.at.Next(); len(me.r.Exclude) > 0 {
		me.line.advance(next)
		return
	}
	me.line.no = no
	me.line.advance(nil)
}

// refusal is how one was refused last, or else who stood before it.
func (w *Waiting) refusal(me *waiter) *NoMatchError {
	w.mu.Lock()
	defer w.mu.Unlock()
	if me.no != nil {
		return me.no
	}
	return me.line.no
}

// wake begins a round in a line.
func (w *Waiting) wake(l *turns) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.round()
}

// freed begins a round in all lines that a proxy may suit, or in all. A store may be
// locked.
func (w *Waiting) freed(p *Proxy) {
	if w.n.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, g := range w.groups {
		if p != nil && !g.selector.Matches(p) {
			continue
		}
		for _, l := range g.lines {
			l.round()
		}
	}
}

// round begins a round, now or after the one that goes on.
func (l *turns) round() {
	if l.turn != nil {
		l.again = true
		return
	}
	l.advance(l.waiters.Front())
}

// advance gives the turn to one, or ends the round.
func (l *turns) advance(to *list.Element) {
	if l.turn = to; to != nil {
		to.Value.(*waiter).turn <- struct{}{}
		return
	}
	for e := l.waiters.Front(); e != nil; e = e.Next() {
		if me := e.Value.(*waiter); !me.patient {
			select {
			case me.over <- struct{}{}:
			default:
			}
		}
	}
	if l.again {
		l.again = false
		l.advance(l.waiters.Front())
	}
}
