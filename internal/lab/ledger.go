package lab

import "fmt"

// Level says how many of a group's workers and proxies believe in a backend.
type Level uint8

// The levels. What the members of a group disagree on is believed Partly.
const (
	None Level = iota
	Partly
	Fully
)

// Ledger integrates the truth and the belief of one proxy while they change, and keeps
// where they differ. A backend is missing while it is routable and not believed Fully;
// it is stale while it is not routable and the belief is not None.
//
// Changes come in order of time and cost O(1) each. What changes to and fro within one
// moment leaves no trace: a ledger holds what was so after all changes of each moment.
// The zero Ledger is ready to use; it is for one goroutine.
type Ledger struct {
	now      Moment
	backends map[string]*entry
	wrong    int // how many backends are missing or stale

	truth, belief, missing, stale, windows series
	differs                                cursor // of windows

	samples  int
	believed []*entry // not None by the last sample
}

// entry is one backend in a ledger.
type entry struct {
	name                          string
	sampled                       int // the last sample that believed in it
	truth, belief, missing, stale cursor
}

// OrderError is a change that came after a later one.
type OrderError struct{ At, Now Moment }

func (e *OrderError) Error() string {
	return fmt.Sprintf("a change at %gs came after one at %gs: changes must come in order of time",
		e.At.Seconds(), e.Now.Seconds())
}

// Truth records that backend is routable from at on, or that it is not. Saying the
// same again changes nothing. The error is an [*OrderError].
func (l *Ledger) Truth(at Moment, backend string, routable bool) error {
	if err := l.advance(at); err != nil {
		return err
	}
	e := l.entry(backend)
	l.truth.turn(&e.truth, at, backend, whole(routable))
	l.compare(e)
	return nil
}

// Belief records how far the proxy believes in backend from at on. Saying the same
// again changes nothing. The error is an [*OrderError].
func (l *Ledger) Belief(at Moment, backend string, level Level) error {
	if err := l.advance(at); err != nil {
		return err
	}
	l.believe(l.entry(backend), level)
	return nil
}

// Sample records what the proxy was seen to believe at a moment: it believes Fully in
// all, Partly in those of some that are not in all, and in nothing else. It costs what
// this sample and the last hold together. A ledger takes samples or single beliefs, not
// both. The error is an [*OrderError].
func (l *Ledger) Sample(at Moment, all, some []string) error {
	if err := l.advance(at); err != nil {
		return err
	}
	l.samples++
	before := l.believed
	l.believed = make([]*entry, 0, max(len(all), len(some)))
	l.see(all, Fully)
	l.see(some, Partly)
	for _, e := range before {
		if e.sampled < l.samples {
			l.believe(e, None)
		}
	}
	return nil
}

func (l *Ledger) see(backends []string, level Level) {
	for _, backend := range backends {
		e := l.entry(backend)
		if e.sampled == l.samples {
			continue
		}
		e.sampled = l.samples
		l.believe(e, level)
		l.believed = append(l.believed, e)
	}
}

func (l *Ledger) believe(e *entry, level Level) {
	l.belief.turn(&e.belief, l.now, e.name, level)
	l.compare(e)
}

// compare holds the belief in e against its truth.
func (l *Ledger) compare(e *entry) {
	missing, stale := None, e.belief.level
	if e.truth.level == Fully {
		missing, stale = Fully-e.belief.level, None
	}
	if e.missing.level+e.stale.level > None {
		l.wrong--
	}
	if missing+stale > None {
		l.wrong++
	}
	l.missing.turn(&e.missing, l.now, e.name, missing)
	l.stale.turn(&e.stale, l.now, e.name, stale)
	l.windows.turn(&l.differs, l.now, "", whole(l.wrong > 0))
}

func (l *Ledger) entry(backend string) *entry {
	e, known := l.backends[backend]
	if !known {
		if l.backends == nil {
			l.backends = map[string]*entry{}
		}
		e = &entry{name: backend}
		l.backends[backend] = e
	}
	return e
}

func (l *Ledger) advance(at Moment) error {
	if at < l.now {
		return &OrderError{At: at, Now: l.now}
	}
	l.now = at
	return nil
}

func whole(holds bool) Level {
	if holds {
		return Fully
	}
	return None
}

// History is what a ledger holds. Its spans are in order of From, then Backend, lie
// within the run and are never empty; two spans of one backend that meet differ in Partly.
type History struct {
	Truth, Belief []BackendSpan
	Wrong         Wrong
}

// Until returns the history of a run that ends at end. More may follow, from end on. The
// error is an [*OrderError].
func (l *Ledger) Until(end Moment) (History, error) {
	if err := l.advance(end); err != nil {
		return History{}, err
	}
	h := History{
		Truth: l.truth.until(end), Belief: l.belief.until(end),
		Wrong: Wrong{Missing: l.missing.until(end), Stale: l.stale.until(end)},
	}
	windows := l.windows.until(end)
	h.Wrong.Windows = make([]Span, len(windows))
	for i, w := range windows {
		h.Wrong.Windows[i] = w.Span
	}
	h.Wrong.MissingSeconds, h.Wrong.StaleSeconds = integral(h.Wrong.Missing), integral(h.Wrong.Stale)
	return h, nil
}

// integral returns over how many backend-seconds spans reach.
func integral(spans []BackendSpan) (seconds float64) {
	for _, s := range spans {
		seconds += s.Length().Seconds()
	}
	return seconds
}
