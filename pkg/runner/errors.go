package runner

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Phase is what a component was doing when it failed.
type Phase string

// The phases of a component.
const (
	Starting Phase = "start"
	Running  Phase = "run"
	Stopping Phase = "stop"
)

// Error is the failure of one component.
type Error struct {
	Component string
	Phase     Phase
	Err       error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Component, e.Phase, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// PanicError is a panic of a component's function.
type PanicError struct {
	Value any
	Stack []byte
}

func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// guard calls f, if there is one, and turns a panic into an error.
func guard(ctx context.Context, f func(context.Context) error) (err error) {
	if f == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f(ctx)
}
