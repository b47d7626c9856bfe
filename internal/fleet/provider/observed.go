package provider

import (
	"context"
	"errors"
)

// RequestRecorder hears of every call that was made. Op is one of [Op], result one of
// ok, not_found, quota_exceeded, permanent and transient.
type RequestRecorder interface {
	Request(provider, op, result string)
}

// WithMetrics returns p, of that name, with every call told to r. What our own limit
// refused was not made, and is not told.
func WithMetrics(p Provider, name string, r RequestRecorder) Provider {
	return decorate(p, func(ctx context.Context, op Op, _ string, call func(context.Context) error) error {
		err := call(ctx)
		if _, throttled := errors.AsType[*ThrottledError](err); !throttled {
			r.Request(name, string(op), results[Class(err)])
		}
		return err
	})
}

// results are the classes as values of a label.
var results = map[error]string{
	nil: "ok", ErrNotFound: "not_found", ErrQuotaExceeded: "quota_exceeded", ErrPermanent: "permanent", ErrTransient: "transient",
}
