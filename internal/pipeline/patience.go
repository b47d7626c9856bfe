package pipeline

import "time"

// patience is when to decide again although nothing was observed.
type patience struct {
	at    time.Time
	delay time.Duration
	// all tells that everything is to be reconsidered that was refused without naming anything.
	all bool
	// long tells that there is no other reason to decide again.
	long bool
}

// How long until the next try: at first and at most, where there is reason for one,
// and where there is none but that the refusal named nothing.
const (
	firstPatience = time.Second
	lastPatience  = 30 * time.Second
	loosePatience = 5 * time.Minute
)

// wait asks for another round: soon, and each time later than before, where it may end
// differently; after long where something may have changed unseen; else not at all.
// Loose is that something was refused without naming anything.
func (p *patience) wait(now time.Time, soon, loose bool) {
	waits := !p.at.IsZero()
	p.all = loose
	switch {
	case soon && (!waits || p.long):
		p.delay = min(max(2*p.delay, firstPatience), lastPatience)
		p.at, p.long = now.Add(p.delay), false
	case soon: // already
	case loose && !waits:
		p.at, p.delay, p.long = now.Add(loosePatience), 0, true
	case loose: // already
	default:
		*p = patience{}
	}
}

// take reports whether the time has come, once.
func (p *patience) take(now time.Time) bool {
	due := p.due(now)
	if due {
		p.at = time.Time{}
	}
	return due
}

func (p *patience) due(now time.Time) bool { return !p.at.IsZero() && !now.Before(p.at) }
