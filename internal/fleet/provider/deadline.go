package provider

import (
	"context"
	"time"
)

// WithDeadline returns p with no call lasting longer than a time. A call that would is
// [ErrTransient]: it may have been carried out.
func WithDeadline(p Provider, most time.Duration) Provider {
	return decorate(p, func(ctx context.Context, _ Op, _ string, call func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		return call(ctx)
	})
}
