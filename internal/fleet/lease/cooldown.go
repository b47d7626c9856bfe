package lease

import "time"

// Windows are the spans that the clock ends. All processes that share a store have the same.
type Windows struct {
	// Cooldown is how long a proxy rests for a target after a report, the first time, and
	// how long after its end a lease can still be reported about.
	Cooldown time.Duration
	// Max bounds what cooldowns grow to with repeated reports.
	Max time.Duration
	// Burst is how long after a cooldown began other reports are taken for news of the
	// same ban: those of requests that were under way.
	Burst time.Duration
}

// DefaultWindows are those of every store outside of tests.
func DefaultWindows() Windows {
	return Windows{Cooldown: CooldownWindow, Max: MaxCooldown, Burst: 30 * time.Second}
}

// cooldown is the rest of one proxy for one target.
type cooldown struct {
	until time.Time
	// times is how often in a row; a cooldown that begins long after the last one ended
	// begins the count anew.
	times int
}

// after is the cooldown that a report begins, with the one before it, which may be none.
// It grows twofold with each in a row, to Windows.Max, and never ends earlier than the
// one before it would have.
func (c cooldown) after(now time.Time, w Windows) cooldown {
	switch began := c.until.Add(-w.length(c.times)); {
	case c.forgotten(now, w):
		c.times = 1
	case now.Sub(began) > w.Burst:
		c.times++
	}
	if until := now.Add(w.length(c.times)); until.After(c.until) {
		c.until = until
	}
	return c
}

// forgotten says whether the next report would be the first in a row.
func (c cooldown) forgotten(now time.Time, w Windows) bool {
	return c.times == 0 || now.Sub(c.until) > w.length(c.times)
}

// length is how long the cooldown with this number in a row is.
func (w Windows) length(times int) time.Duration {
	d := w.Cooldown
	for range times - 1 {
		if d *= 2; d >= w.Max {
			return w.Max
		}
	}
	return d
}
