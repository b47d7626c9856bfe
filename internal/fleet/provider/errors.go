package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What a provider's errors mean. Each error of a provider wraps one of these, or is
// taken for [ErrTransient].
var (
	// ErrNotFound: it is certain that there is no such instance.
	ErrNotFound = errors.New("no such instance")
	// ErrQuotaExceeded: a limit of the account or a lack of machines; others may succeed,
	// this one later.
	ErrQuotaExceeded = errors.New("quota exceeded")
	// ErrPermanent: the same request will never succeed.
	ErrPermanent = errors.New("refused")
	// ErrTransient: the same request may succeed soon. It may also have been carried out.
	ErrTransient = errors.New("failed")
)

// Class returns the one of the sentinels above that err wraps, [ErrTransient] for any
// other error, and nil for nil. An ended context is transient.
func Class(err error) error {
	if err == nil {
		return nil
	}
	for _, class := range []error{ErrNotFound, ErrQuotaExceeded, ErrPermanent} {
		if errors.Is(err, class) && !errors.Is(err, context.Canceled) {
			return class
		}
	}
	return ErrTransient
}

// ClassName returns Class in a word: NotFound, QuotaExceeded, Permanent, Transient, or
// "" for nil.
func ClassName(err error) string {
	switch class := Class(err); {
	case class == nil:
		return ""
	case errors.Is(class, ErrNotFound):
		return "NotFound"
	case errors.Is(class, ErrQuotaExceeded):
		return "QuotaExceeded"
	case errors.Is(class, ErrPermanent):
		return "Permanent"
	default:
		return "Transient"
	}
}

// ThrottledError refuses a call before it was made, because of our own limit: ask
// again After. It is transient, and no failure.
type ThrottledError struct{ After time.Duration }

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("the limit of requests is reached; the next is due in %s", e.After)
}

// PartialError says which scopes of a list could not be seen.
type PartialError struct {
	// Scopes are zones, projects or namespaces, by the provider's names.
	Scopes []string
	// Err is what one of them answered.
	Err error
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%s not seen: %v", strings.Join(e.Scopes, ", "), e.Err)
}

// Unwrap returns what one of the scopes answered.
func (e *PartialError) Unwrap() error { return e.Err }
