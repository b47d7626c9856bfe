package health

import (
	"net/netip"
	"time"
)

// Bounds of what is worth a write.
const (
	// MinReportInterval is between writes for latency alone.
	MinReportInterval = 60 * time.Second
	// A latency is another one when it differs by more than latencyStep and by more than
	// half of what was reported.
	latencyStep = 20 * time.Millisecond
)

// Cause says why something is worth a write.
type Cause string

// Causes.
const (
	FirstVerdict  Cause = "first_verdict"
	VerdictFlip   Cause = "flip"
	LatencyChange Cause = "latency"
	EgressKnown   Cause = "egress"
)

// record is what is known of one proxy. It is pure: it is told results and the time.
type record struct {
	ok, failed int       // results in a row; one of them is 0
	verdict    *bool     // nil before the first
	since      time.Time // of the verdict; zero if it was taken over
	last       Result
	at         time.Time // of last

	// What the status has, as far as we know.
	reported   *bool
	latency    time.Duration
	egress     netip.Addr
	reportedAt time.Time
}

// seed begins with what a status says, so that the same again is no news.
func (r *record) seed(k *Known, now time.Time) {
	if k == nil {
		return
	}
	r.verdict, r.reported = new(k.Healthy), new(k.Healthy)
	r.latency, r.egress, r.reportedAt = k.Latency, k.Egress, k.At
	if k.At.After(now) { // of a clock that is ahead
		r.reportedAt = now
	}
}

// again counts anew, from the verdict that there is.
func (r *record) again() { r.ok, r.failed = 0, 0 }

// add counts a result.
func (r *record) add(got Result, now time.Time) {
	r.last, r.at = got, now
	if got.Class == OK {
		r.ok, r.failed = r.ok+1, 0
	} else {
		r.ok, r.failed = 0, r.failed+1
	}
}

// judge comes to a verdict. None turns bad while held is true, the first neither.
func (r *record) judge(c Check, held bool) {
	switch {
	case r.ok >= max(1, c.SuccessThreshold):
		r.turn(true)
	case r.failed >= max(1, c.FailureThreshold) && !held:
		r.turn(false)
	}
}

func (r *record) turn(good bool) {
	if r.verdict == nil || *r.verdict != good {
		r.verdict, r.since = new(good), r.at
	}
}

// confirmed says whether the verdict was not just taken over.
func (r *record) confirmed(c Check) bool {
	return !r.since.IsZero() || r.good() && r.ok >= max(1, c.SuccessThreshold) || r.bad() && r.failed >= max(1, c.FailureThreshold)
}

// news says why the state is worth a write, "" if it is not.
func (r *record) news(egress netip.Addr, now time.Time) Cause {
	switch {
	case r.verdict == nil:
		return ""
	case r.reported == nil:
		return FirstVerdict
	case *r.reported != *r.verdict:
		return VerdictFlip
	case !*r.verdict || r.last.Class != OK:
		return ""
	case egress != r.egress && egress.IsValid():
		return EgressKnown
	}
	step := (r.last.Latency - r.latency).Abs()
	if step > max(latencyStep, r.latency/2) && now.Sub(r.reportedAt) >= MinReportInterval {
		return LatencyChange
	}
	return ""
}

// told remembers that the state was passed on.
func (r *record) told(egress netip.Addr, now time.Time) {
	r.reported, r.latency, r.reportedAt = new(*r.verdict), r.last.Latency, now
	if *r.verdict {
		r.egress = egress
	}
}

// good says whether the verdict is.
func (r *record) good() bool { return r.verdict != nil && *r.verdict }

// shaky says whether the proxy fails now although its verdict is good.
func (r *record) shaky() bool { return r.good() && r.failed > 0 }

// bad says whether the verdict is.
func (r *record) bad() bool { return r.verdict != nil && !*r.verdict }
