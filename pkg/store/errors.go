package store

import (
	"errors"
	"fmt"
)

// Why the body of an on-demand value was not taken. They come wrapped in a
// [FillError], which names the key.
var (
	// ErrAbsent tells that the View has no value for the key: it was deleted meanwhile.
	ErrAbsent = errors.New("no such value in this view")
	// ErrNotOnDemand tells that the value is not an [*OnDemand].
	ErrNotOnDemand = errors.New("not an on-demand value")
	// ErrNoBody tells that the body given is nil.
	ErrNoBody = errors.New("no body given")
)

// FillError is a body that was refused for what the View has under Key.
type FillError struct {
	Key Key
	Err error
}

func (e *FillError) Error() string { return fmt.Sprintf("fill %s: %v", e.Key, e.Err) }

func (e *FillError) Unwrap() error { return e.Err }

// StaleError is a body of another version than the one in the View. When the body
// is the newer one, the View is what is stale: capture the object again.
type StaleError struct {
	Key       Key
	Have, Got string // versions: of the View, of the body
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("fill %s: body of version %q, but the view has version %q: capture the object again", e.Key, e.Got, e.Have)
}
