package health

import (
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// When more than this share of the good proxies fails at once, the fault is likely
// ours, or the target's: no verdict turns bad then, for maxSuspension at most.
const (
	suspendShare  = 0.3
	suspendLeast  = 5 // of so many good proxies at least
	maxSuspension = 5 * time.Minute
	// lately is how long one that has turned bad counts as one that fails at once.
	lately = 2 * time.Minute
	// calm is how long a suspension must not be needed before another one may begin.
	calm = time.Minute
	// doubtShare of all verdicts, when they are bad, says more of the target than of them.
	doubtShare = 0.5
)

// weather is how the fleet does as a whole.
type weather struct {
	good, bad, shaky int // verdicts; shaky are those of good that fail now
	fallen           int // those of bad that turned so lately
	falls            []fall
	since            time.Time // when many began to fail; zero when they did not for long
	quiet            time.Time // since when they do not; zero while they do
}

type fall struct {
	s  *state
	at time.Time
}

// enter counts a proxy, and leave does not any more.
func (w *weather) enter(s *state) { w.count(&s.record, 1) }
func (w *weather) leave(s *state) { w.count(&s.record, -1) }

func (w *weather) count(r *record, by int) {
	switch {
	case r.shaky():
		w.shaky += by
		w.good += by
	case r.good():
		w.good += by
	case r.bad():
		w.bad += by
	}
}

// fall notes that a good proxy has turned bad, and rise that this does not count any more.
func (w *weather) fall(s *state, now time.Time) {
	w.rise(s)
	s.fell = now
	w.fallen++
	w.falls = append(w.falls, fall{s, now})
}

func (w *weather) rise(s *state) {
	if !s.fell.IsZero() {
		s.fell = time.Time{}
		w.fallen--
	}
}

// many says whether too many of those that were good lately fail.
func (w *weather) many(now time.Time) bool {
	for len(w.falls) > 0 && now.Sub(w.falls[0].at) >= lately {
		if f := w.falls[0]; f.s.fell.Equal(f.at) {
			w.rise(f.s)
		}
		w.falls = w.falls[1:]
	}
	all := w.good + w.fallen
	return all >= suspendLeast && float64(w.shaky+w.fallen) > suspendShare*float64(all)
}

// holds says whether no verdict may turn bad now. A suspension that was interrupted for
// less than calm is the same one: it does not last longer for that.
func (w *weather) holds(now time.Time) bool {
	many := w.many(now)
	if !w.quiet.IsZero() && now.Sub(w.quiet) >= calm {
		w.since, w.quiet = time.Time{}, time.Time{}
	}
	switch {
	case many && w.since.IsZero():
		w.since = now
	case many:
		w.quiet = time.Time{}
	case !w.since.IsZero() && w.quiet.IsZero():
		w.quiet = now
	}
	return many && now.Sub(w.since) < maxSuspension
}

// doubtful says whether most verdicts are bad.
func (w *weather) doubtful() bool {
	all := w.good + w.bad
	return all >= suspendLeast && float64(w.bad) > doubtShare*float64(all)
}

// hold says whether verdicts are held now, and tells when that changes.
func (e *Engine) hold(now time.Time) bool {
	held := e.weather.holds(now)
	if held == e.held {
		return held
	}
	e.held = held
	e.options.Metrics.Suspended(held)
	failing := e.weather.shaky + e.weather.fallen
	if held {
		e.heldAt = now
		e.options.Log.Warn("too many proxies fail at once for it to be their fault: no verdict turns bad for five minutes at most; see whether the probes' target answers, and whether this machine reaches the network",
			observe.KeyFailing, failing, observe.KeyTotal, e.weather.good+e.weather.fallen)
		return held
	}
	e.options.Log.Info("verdicts on proxies may turn bad again", observe.KeyFailing, failing, observe.KeyTook, now.Sub(e.heldAt).Round(time.Second))
	return held
}

// Doubtful implements [reconcile.Health]: many fail at once, or most are bad, so that
// what is unhealthy is likely so for no fault of its own.
func (e *Engine) Doubtful() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held || e.weather.doubtful()
}
