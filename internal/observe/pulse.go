package observe

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Pulse tells whether a loop still turns. The zero Pulse has never turned.
type Pulse struct {
	last atomic.Int64 // Unix nanoseconds
}

// Beat records one turn.
func (p *Pulse) Beat(now time.Time) { p.last.Store(now.UnixNano()) }

// Live returns nil when the last turn is at most limit before now.
func (p *Pulse) Live(now time.Time, limit time.Duration) error {
	last := p.last.Load()
	if last == 0 {
		return fmt.Errorf("the loop has not turned yet")
	}
	if age := now.Sub(time.Unix(0, last)); age > limit {
		return fmt.Errorf("the loop last turned %s ago, more than %s", age.Round(time.Millisecond), limit)
	}
	return nil
}
