package proxy

import "context"

// Abandon ends at once what a Start that failed has started. What stop says about it
// would hide why the Start failed.
func Abandon(ctx context.Context, stop func(context.Context) error) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	_ = stop(now)
}
