package health

import "time"

// Bounds of what is worth a write.
const (
	// MinReportInterval is between writes for latency alone.
	MinReportInterval = 60 * time.Second
	// A latency is another one when it differs by more than latencyStep and by more than
	// half of what was reported.
	latencyStep = 20 * time.Millisecond
)

// record is what is known of one proxy. It is pure: it is told results and the time.
type record struct {
	ok, failed int   // results in a row; one of them is 0
	verdict    *bool // nil before the first
	last       Result

	reported   *bool // the verdict that status has, as far as we know
	latency    time.Duration
	reportedAt time.Time
}

// add counts a result. A verdict that would turn bad stays while held is true.
func (r *record) add(got Result, c Check, held bool) {
	r.last = got
	if got.Class == OK {
		r.ok, r.failed = r.ok+1, 0
	} else {
		r.ok, r.failed = 0, r.failed+1
	}
	switch {
	case r.ok >= c.SuccessThreshold:
		r.verdict = new(true)
	case r.failed >= c.FailureThreshold && !held:
		r.verdict = new(false)
	}
}

// news says whether the state is worth a write.
func (r *record) news(now time.Time) bool {
	switch {
	case r.verdict == nil:
		return false
	case r.reported == nil || *r.reported != *r.verdict:
		return true
	case !*r.verdict || r.last.Class != OK:
		return false
	}
	step := (r.last.Latency - r.latency).Abs()
	return step > max(latencyStep, r.latency/2) && now.Sub(r.reportedAt) >= MinReportInterval
}

// told remembers that the state was passed on.
func (r *record) told(now time.Time) {
	r.reported, r.latency, r.reportedAt = new(*r.verdict), r.last.Latency, now
}

// Pace of probes.
const (
	// While results and verdict differ, probes come this many times as often.
	transitionSpeed = 3
	minInterval     = time.Second
	// After this many failures in a row beyond the threshold, probes come rarely.
	longDead    = 10
	deadSlow    = 5
	maxInterval = 5 * time.Minute
)

// pause is how long until the next probe begins, after the one before it began.
func (r *record) pause(c Check) time.Duration {
	switch {
	case r.verdict == nil, *r.verdict && r.failed > 0, !*r.verdict && r.ok > 0:
		return max(c.Interval/transitionSpeed, min(minInterval, c.Interval))
	case r.failed >= c.FailureThreshold+longDead:
		return max(c.Interval, min(c.Interval*deadSlow, maxInterval))
	}
	return c.Interval
}

// shaky says whether the proxy counts as failing although its verdict is good.
func (r *record) shaky() bool { return r.verdict != nil && *r.verdict && r.failed > 0 }
