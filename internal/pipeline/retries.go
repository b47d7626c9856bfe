package pipeline

import (
	"maps"
	"time"
)

// retries are refused resources to offer again, with a delay that doubles.
type retries struct {
	waiting map[scoped]retry
}

type retry struct {
	at    time.Time
	delay time.Duration
}

// Bounds of the delay between two offers.
const (
	firstRetry = time.Second
	lastRetry  = 15 * time.Second
)

func (r *retries) add(s scoped, now time.Time) {
	if r.waiting == nil {
		r.waiting = map[scoped]retry{}
	}
	delay := firstRetry
	if before, again := r.waiting[s]; again {
		delay = min(2*before.delay, lastRetry)
	}
	r.waiting[s] = retry{at: now.Add(delay), delay: delay}
}

// next is when the first retry is due.
func (r *retries) next() (time.Time, bool) {
	var first time.Time
	for _, w := range r.waiting {
		if !w.at.IsZero() && (first.IsZero() || w.at.Before(first)) {
			first = w.at
		}
	}
	return first, !first.IsZero()
}

// due returns what to offer now; each waits for its answer before it is due again.
func (r *retries) due(now time.Time) []scoped {
	var out []scoped
	for s, w := range r.waiting {
		if !w.at.IsZero() && !now.Before(w.at) {
			out = append(out, s)
			r.waiting[s] = retry{delay: w.delay}
		}
	}
	return out
}

// forget drops the retries of a group.
func (r *retries) forget(group string) {
	maps.DeleteFunc(r.waiting, func(s scoped, _ retry) bool { return s.Group == group })
}

// acknowledged forgets a resource that was taken at last.
func (r *retries) acknowledged(s scoped) { delete(r.waiting, s) }
