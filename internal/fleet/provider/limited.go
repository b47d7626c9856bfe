package provider

import (
	"context"
	"time"
)

// Limited returns p with at most so many calls a second, counted over all its accounts;
// a quarter of a second's calls may come at once after a pause.
//
// Creates, deletes and lists, which sweeps ask for and no worker, wait for their turn and
// go before everything else. Any other call that would have to wait is a
// [ThrottledError] with the time of its turn, and has its place when it asks again: of a
// thousand that ask forever, each gets as many answers as any other. A wait that the
// context's deadline would end is refused at once in the same way.
func Limited(p Provider, perSecond float64) Provider {
	l := newLimiter(perSecond)
	return decorate(p, func(ctx context.Context, op Op, on string, call func(context.Context) error) error {
		if err := l.wait(ctx, turn{op, on}); err != nil {
			return err
		}
		return call(ctx)
	})
}

// wait returns when the call may be made, or an error if it may not.
func (l *limiter) wait(ctx context.Context, t turn) error {
	if !t.first() {
		if after := l.look(t, time.Now()); after > 0 {
			return &ThrottledError{After: after}
		}
		return nil
	}
	after := l.take(time.Now())
	if deadline, bounded := ctx.Deadline(); bounded && time.Until(deadline) < after {
		l.giveBack()
		return &ThrottledError{After: after}
	}
	if err := pause(ctx, after); err != nil {
		l.giveBack()
		return err
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turn is who asks: the same call again is the same turn.
type turn struct {
	op Op
	on string
}

// first says whether the call goes before others.
func (t turn) first() bool { return t.op == OpCreate || t.op == OpDelete || t.op == OpList }
