package provider

import (
	"context"
	"fmt"
)

// WithFence returns p whose creates and deletes are refused, as [ErrTransient], while
// open returns an error: those of a process that does not lead the fleet any more and
// has not found out by itself.
func WithFence(p Provider, open func() error) Provider {
	return decorate(p, func(ctx context.Context, op Op, on string, call func(context.Context) error) error {
		if op == OpCreate || op == OpDelete {
			if err := open(); err != nil {
				return fmt.Errorf("%w: %s %s: %w", ErrTransient, op, on, err)
			}
		}
		return call(ctx)
	})
}
