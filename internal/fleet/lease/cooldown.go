package lease

import "time"

// cooldown is the rest of one proxy for one target.
type cooldown struct {
	until time.Time
	// times is how often in a row; a cooldown that begins long after the last one ended
	// begins the count anew.
	times int
}

// after is the cooldown that a report begins, with the one before it, which may be none.
// It grows twofold with each in a row, to MaxCooldown, and never ends earlier than the
// one before it would have.
func (c cooldown) after(now time.Time) cooldown {
	switch began := c.until.Add(-length(c.times)); {
	case c.forgotten(now):
		c.times = 1
	case now.Sub(began) > burst:
		c.times++
	}
	if until := now.Add(length(c.times)); until.After(c.until) {
		c.until = until
	}
	return c
}

// forgotten says whether the next report would be the first in a row.
func (c cooldown) forgotten(now time.Time) bool {
	return c.times == 0 || now.Sub(c.until) > length(c.times)
}

// burst is how long after a cooldown began other reports are taken for news of the same
// ban: those of requests that were under way.
const burst = 30 * time.Second

// length is how long the cooldown with this number in a row is.
func length(times int) time.Duration {
	d := CooldownWindow
	for range times - 1 {
		if d *= 2; d >= MaxCooldown {
			return MaxCooldown
		}
	}
	return d
}
