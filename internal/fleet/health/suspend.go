package health

import "time"

// When more than this share of the good proxies fails at once, the fault is likely
// ours, or the target's: no verdict turns bad then, for maxSuspension at most.
const (
	suspendShare  = 0.3
	suspendLeast  = 5 // of so many good proxies at least
	maxSuspension = 5 * time.Minute
)

// suspended says whether verdicts are held now.
func (e *Engine) suspended(now time.Time) bool {
	many := e.good >= suspendLeast && float64(e.shaky) > suspendShare*float64(e.good)
	if many != e.held {
		e.held, e.since = many, now
		e.options.Metrics.Suspended(many)
	}
	return e.held && now.Sub(e.since) < maxSuspension
}
