package provider

import (
	"context"
	"time"
)

// Limited returns p with at most so many calls a second, counted over all its accounts;
// a quarter of a second's calls may come at once after a pause.
//
// Looks at one instance are what there are many of: one that would have to wait is a
// [ThrottledError] with the time of its turn, and has its place when it asks again: of a
// thousand that ask forever, each gets as many answers as any other. Every other call is a
// change, or a question that a step cannot do without once it has looked: it waits for its
// turn and goes before looks. Were it refused, the step would begin with the next look,
// and two that are lost could take the turns of each other's questions for ever. A wait
// that the context's deadline would end is refused at once in the same way.
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

// first says whether the call waits, and goes before those that do not.
func (t turn) first() bool { return t.op != OpGet }
