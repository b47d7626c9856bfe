package health

import "time"

// Pace of probes.
const (
	// While results and verdict differ, probes come this many times as often; a first good
	// result is confirmed after confirmPause.
	transitionSpeed = 3
	confirmPause    = time.Second
	minInterval     = time.Second
	// After this many failures in a row beyond the threshold, probes come rarely.
	longDead    = 10
	deadSlow    = 5
	maxInterval = 5 * time.Minute
)

// pause is how long until the next probe begins, after the one before it began.
func (r *record) pause(c Check, held bool) time.Duration {
	interval := max(c.Interval, minInterval)
	switch {
	case r.verdict == nil && r.ok > 0:
		return min(confirmPause, interval)
	case held && !r.bad(): // many fail, through no fault of theirs: no more load than else
		return interval
	case r.verdict == nil, r.shaky(), r.bad() && r.ok > 0:
		return max(interval/transitionSpeed, minInterval)
	case r.failed >= c.FailureThreshold+longDead:
		return max(interval, min(interval*deadSlow, maxInterval))
	}
	return interval
}

// after is when the next probe begins: after a pause that is no shorter than the interval,
// at the proxy's own place in it, so that proxies that were new at once do not stay so.
func (s *state) after(began time.Time, held bool) time.Time {
	pause := s.record.pause(s.proxy.Check, held)
	interval := max(s.proxy.Check.Interval, minInterval)
	if pause < interval {
		return began.Add(pause)
	}
	return s.aligned(began.Add(pause - interval/2))
}
