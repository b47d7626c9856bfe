package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errBroken = errors.New("broken")

// diary records what components did, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) component(name string) Component {
	return Component{
		Name:  name,
		Start: func(context.Context) error { d.add("start %s", name); return nil },
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			d.add("end %s", name)
			return ctx.Err()
		},
		Stop: func(context.Context) error { synctest.Wait(); d.add("stop %s", name); return nil },
	}
}

func (d *diary) check(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// check asserts which component failed, in which phase, with which cause.
func check(t *testing.T, err error, component string, phase Phase, cause error) {
	t.Helper()
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Component != component || failed.Phase != phase || !errors.Is(err, cause) {
		t.Errorf("error %v, want %s of %s failing with %v", err, phase, component, cause)
	}
}

func TestStartsInOrderAndStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		ctx, cancel := context.WithCancel(t.Context())
		err := Run(ctx, Options{Started: func() { d.add("ready"); cancel() }}, d.component("a"), d.component("b"))
		if err != nil {
			t.Errorf("error %v", err)
		}
		d.check(t, "start a", "start b", "ready", "end b", "stop b", "end a", "stop a")
	})
}

func TestFailedStartStopsWhatStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		bad := d.component("b")
		bad.Start = func(context.Context) error { return errBroken }
		err := Run(t.Context(), Options{}, d.component("a"), bad, d.component("c"))
		check(t, err, "b", Starting, errBroken)
		d.check(t, "start a", "end a", "stop a")
	})
}

func TestFailedRunStopsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		bad := Component{Name: "b", Run: func(context.Context) error { time.Sleep(time.Second); return errBroken }}
		err := Run(t.Context(), Options{}, d.component("a"), bad, d.component("c"))
		check(t, err, "b", Running, errBroken)
		d.check(t, "start a", "start c", "end c", "stop c", "end a", "stop a")
	})
}

func TestRunThatEndsWithoutErrorStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		once := Component{Name: "once", Run: func(context.Context) error { return nil }}
		if err := Run(ctx, Options{}, once, Component{Name: "empty"}); err != nil {
			t.Errorf("error %v", err)
		}
		if ran := time.Since(begin); ran != time.Minute {
			t.Errorf("ran for %s, want until its context ended", ran)
		}
	})
}

func TestPanicsAreErrorsOfTheirOwner(t *testing.T) {
	boom := func(context.Context) error { panic("boom") }
	for phase, c := range map[Phase]Component{
		Starting: {Name: "x", Start: boom},
		Running:  {Name: "x", Run: boom},
		Stopping: {Name: "x", Stop: boom},
	} {
		t.Run(string(phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err := Run(ctx, Options{}, c)
				failed, _ := errors.AsType[*Error](err)
				panicked, ok := errors.AsType[*PanicError](err)
				if !ok || failed.Phase != phase || panicked.Value != "boom" || !strings.Contains(string(panicked.Stack), "runner_test.go") {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestStopHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		release := make(chan struct{})
		stuck := Component{Name: "stuck", Run: func(context.Context) error { <-release; return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		err := Run(ctx, Options{StopTimeout: 10 * time.Second, Started: cancel}, d.component("a"), stuck)
		check(t, err, "stuck", Stopping, ErrStuck)
		d.check(t, "start a", "end a", "stop a")
		if took := time.Since(begin); took != 11*time.Second {
			t.Errorf("took %s, want the deadline and a tenth", took)
		}
		close(release)
	})
}

func TestStartThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := Component{Name: "stuck", Start: func(context.Context) error { <-release; return nil }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		check(t, Run(ctx, Options{}, stuck), "stuck", Starting, ErrStuck)
		close(release)
	})
}

func TestCancelledStartIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		slow := Component{Name: "slow", Start: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Run(ctx, Options{}, d.component("a"), slow); err != nil {
			t.Errorf("error %v", err)
		}
		d.check(t, "start a", "end a", "stop a")
	})
}

func TestFailureOfTheStopIsJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errStop := errors.New("cannot close")
		a := Component{Name: "a", Stop: func(context.Context) error { return errStop }}
		b := Component{Name: "b", Run: func(context.Context) error { return errBroken }}
		err := Run(t.Context(), Options{}, a, b)
		check(t, err, "b", Running, errBroken)
		if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "a: stop: cannot close") {
			t.Errorf("error %v does not say that a's stop failed", err)
		}
	})
}
