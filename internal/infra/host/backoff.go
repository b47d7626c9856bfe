package host

import "time"

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
	// stableRun is how long a process must have run for its end to count as the first.
	stableRun = 10 * time.Second
)

// backoff says how long to wait before the next start.
type backoff struct {
	failures int
	longest  time.Duration
	jitter   func() float64
}

// next returns the pause after a process that ran for so long: none after the
// first end, then from a growing interval, which jitter cuts by up to half.
func (b *backoff) next(ran time.Duration) time.Duration {
	if ran >= stableRun {
		b.failures = 0
	}
	b.failures++
	if b.failures == 1 {
		return 0
	}
	pause := b.longest
	if doublings := b.failures - 2; doublings < 9 {
		pause = min(b.longest, firstPause<<doublings)
	}
	return pause - time.Duration(b.jitter()*float64(pause)/2)
}
