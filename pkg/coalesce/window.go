// Package coalesce says when a burst of changes is over: after a quiet period,
// or after a longest delay if it never gets quiet.
//
// It is a value for one loop goroutine. It reads no clock, starts no timer and no
// goroutine: the loop passes the time in and waits until Deadline itself.
package coalesce

import "time"

// Window collects the changes of one burst. The zero Window waits for nothing: it
// is due as soon as something is added. It is not safe for concurrent use.
type Window struct {
	quiet, longest time.Duration

	open  bool
	calm  time.Time // when it has been quiet for long enough
	limit time.Time // when it is due, quiet or not
}

// New returns a Window that is due when nothing was added for quiet, and longest
// after the first addition at the latest. Negative durations count as zero.
func New(quiet, longest time.Duration) Window {
	return Window{quiet: max(quiet, 0), longest: max(longest, 0)}
}

// Add notes a change. Times need not grow: an earlier time than the last one
// shortens nothing.
func (w *Window) Add(now time.Time) { w.AddWithin(now, w.longest) }

// AddWithin is Add for a change that must not wait longer than delay, whatever
// else is added; 0 makes the burst due now.
func (w *Window) AddWithin(now time.Time, delay time.Duration) {
	calm, limit := now.Add(w.quiet), now.Add(min(max(delay, 0), w.longest))
	if !w.open {
		w.open, w.calm, w.limit = true, calm, limit
		return
	}
	if calm.After(w.calm) {
		w.calm = calm
	}
	if limit.Before(w.limit) {
		w.limit = limit
	}
}

// Deadline returns when the burst is over; false while nothing was added.
func (w *Window) Deadline() (time.Time, bool) {
	if w.calm.Before(w.limit) {
		return w.calm, w.open
	}
	return w.limit, w.open
}

// Take reports whether the burst is over at a time, and if it is empties the Window.
func (w *Window) Take(now time.Time) bool {
	due, open := w.Deadline()
	if !open || now.Before(due) {
		return false
	}
	w.open = false
	return true
}
