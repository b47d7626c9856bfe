package provider

import (
	"math"
	"slices"
	"sync"
	"time"
)

// forgotten is how long a place is kept for a call that does not come back.
const forgotten = 10 * time.Minute

// limiter is a bucket of tokens, and the queue of calls that found it empty.
//
// A call that goes first takes its token at once, also one that there will only be
// later: the bucket then owes it, and the others see it empty until the debt is paid.
// They take one only if there are more than calls before them that are not late; one
// that is late, or never comes, holds up nobody.
type limiter struct {
	perSecond, most float64 // most tokens in the bucket

	mu     sync.Mutex
	tokens float64 // at the time; negative while calls wait
	at     time.Time
	queue  []place // in the order in which they came
}

func newLimiter(perSecond float64) *limiter {
	most := max(1, perSecond/4)
	return &limiter{perSecond: perSecond, most: most, tokens: most}
}

// place is a call's in the queue.
type place struct {
	turn
	due int64 // when it was told to come, in nanoseconds since 1970
}

// take takes a token and returns how long until there is one.
func (l *limiter) take(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fill(now)
	l.tokens--
	return l.until(0)
}

// giveBack returns the token of a call that was not made.
func (l *limiter) giveBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens++
}

// look takes a token if it is t's turn, and returns 0; else how long until then, for
// which t has a place.
func (l *limiter) look(t turn, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fill(now)
	mine, before := l.place(t, now)
	after := l.until(1 + float64(before))
	switch {
	case after == 0:
		l.tokens--
		l.queue = slices.Delete(l.queue, mine, min(mine+1, len(l.queue)))
	case mine < len(l.queue):
		l.queue[mine].due = now.Add(after).UnixNano()
	default:
		l.queue = slices.DeleteFunc(l.queue, func(p place) bool { return p.due < now.Add(-forgotten).UnixNano() })
		l.queue = append(l.queue, place{t, now.Add(after).UnixNano()})
	}
	return after
}

// fill puts into the bucket what has come since.
func (l *limiter) fill(now time.Time) {
	if !l.at.IsZero() && now.After(l.at) {
		l.tokens = min(l.most, l.tokens+now.Sub(l.at).Seconds()*l.perSecond)
	}
	l.at = now
}

// until returns how long it is until the bucket has so many tokens, in whole
// milliseconds, so that it has them then.
func (l *limiter) until(tokens float64) time.Duration {
	millis := math.Ceil((tokens - l.tokens) / l.perSecond * 1000)
	return time.Duration(max(0, millis)) * time.Millisecond
}

// place returns where t is in the queue, which is its length for one that is not there,
// and how many before it are not late.
func (l *limiter) place(t turn, now time.Time) (mine, before int) {
	for i := range l.queue {
		p := &l.queue[i]
		if p.turn == t {
			return i, before
		}
		if p.due > now.UnixNano() {
			before++
		}
	}
	return len(l.queue), before
}
