package runner

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Component is one part of a program. Every function may be nil.
type Component struct {
	// Name is what errors call the component.
	Name string
	// Start returns once the component works. Its context ends when the start is
	// called off; what outlives Start is not to use it.
	Start func(ctx context.Context) error
	// Run works in a goroutine from the end of Start until its context ends. It
	// stops everything if it returns earlier with an error or panics.
	Run func(ctx context.Context) error
	// Stop ends what Start began. It is called once Run's context has ended,
	// beside it, and only after a Start without error. Its context has the stop deadline.
	Stop func(ctx context.Context) error
}

// Options tune Run; the zero value is usable.
type Options struct {
	// StopTimeout bounds the stopping of all components together; default 30 s.
	StopTimeout time.Duration
	// Started is called once every component has started.
	Started func()
}

// Run starts the components in order, waits until ctx ends or one fails, and
// stops those that started in reverse order. It returns the failure that began
// the stop, joined with those of the stop: each an *Error. It is nil when ctx
// ended and everything stopped well.
func Run(ctx context.Context, o Options, components ...Component) error {
	if o.StopTimeout == 0 {
		o.StopTimeout = 30 * time.Second
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	running, err := startAll(ctx, cancel, o.StopTimeout, components)
	if err == nil && ctx.Err() == nil {
		if o.Started != nil {
			o.Started()
		}
		<-ctx.Done()
	}
	cancel(nil)
	return errors.Join(append([]error{err, failure(ctx)}, stopAll(o.StopTimeout, running)...)...)
}

// failure returns why ctx ended if a component's failure ended it.
func failure(ctx context.Context) error {
	if failed, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return failed
	}
	return nil
}

// startAll starts components until one fails or ctx ends, and returns those that started.
func startAll(ctx context.Context, fail context.CancelCauseFunc, grace time.Duration, components []Component) ([]*started, error) {
	var running []*started
	for _, c := range components {
		if ctx.Err() != nil {
			return running, nil
		}
		if err := within(ctx, grace, c.Start); err != nil {
			if calledOff(ctx, err) {
				return running, nil
			}
			return running, &Error{Component: c.Name, Phase: Starting, Err: err}
		}
		running = append(running, launch(ctx, fail, c))
	}
	return running, nil
}

// calledOff reports whether err only says that ctx has ended.
func calledOff(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// started is a component after its Start.
type started struct {
	Component
	cancel context.CancelFunc
	done   chan struct{} // closed when Run has returned
	err    error         // of Run; valid once done is closed
}

// launch gives Run its goroutine. Its context is cut loose from ctx, so that it
// ends in this component's turn and not with everybody else's.
func launch(ctx context.Context, fail context.CancelCauseFunc, c Component) *started {
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &started{Component: c, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		err := guard(runCtx, c.Run)
		if err != nil && runCtx.Err() == nil {
			fail(&Error{Component: c.Name, Phase: Running, Err: err})
			return
		}
		if !errors.Is(err, context.Canceled) {
			s.err = err
		}
	}()
	return s
}

// stopAll stops in reverse order within one deadline for all. What comes after
// a component that used it up still gets a tenth of it.
func stopAll(timeout time.Duration, running []*started) []error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var errs []error
	for _, s := range slices.Backward(running) {
		if err := s.stop(ctx, timeout/10); err != nil {
			errs = append(errs, &Error{Component: s.Name, Phase: Stopping, Err: err})
		}
	}
	return errs
}

func (s *started) stop(ctx context.Context, grace time.Duration) error {
	s.cancel()
	return within(ctx, grace, func(ctx context.Context) error {
		err := guard(ctx, s.Stop)
		<-s.done
		return errors.Join(err, s.err)
	})
}

// ErrStuck is the failure of a function that did not return when its context had ended.
var ErrStuck = errors.New("did not return when told to")

// within calls f and waits for it until ctx has ended for the length of grace.
// An f that does not return by then keeps its goroutine: there is no way to end it.
func within(ctx context.Context, grace time.Duration, f func(context.Context) error) error {
	result := make(chan error, 1)
	go func() { result <- guard(ctx, f) }()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
		return ErrStuck
	}
}
