package kubeapi

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Clock is the real one, but nobody waits longer on it than ctx lives: what client-go does
// between two attempts does not outlive who asked for them.
func Clock(ctx context.Context) clock.Clock { return until{ctx: ctx} }

type until struct {
	clock.RealClock
	ctx context.Context
}

// After implements [clock.Clock].
func (u until) After(d time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	go func() { // which ends with the wait
		select {
		case <-time.After(d):
		case <-u.ctx.Done():
		}
		c <- time.Now()
	}()
	return c
}
