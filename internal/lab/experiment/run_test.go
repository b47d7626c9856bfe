package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/arena/arenatest"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/experiment"
)

const (
	short = lab.Moment(2500 * time.Millisecond)
	// endless is how long a run would take that nothing ends early.
	endless = lab.Moment(10 * time.Minute)
)

// run plays it, and checks that every request is accounted for.
func run(ctx context.Context, t *testing.T, x experiment.Experiment) lab.Proxy {
	t.Helper()
	began := 0
	got, err := x.Run(ctx, func() error {
		began++
		if now := x.Clock.Now(); now != 0 {
			t.Errorf("the clock shows %v before the run", now)
		}
		return nil
	})
	if err != nil || began != 1 {
		t.Fatalf("error %v, %d beginnings, want none and one", err, began)
	}
	q := got.Requests
	if sum := q.Answered + q.AnsweredByRemoved + q.Failed + q.NoBackend + q.Unsent; sum != q.Due || q.Answered == 0 {
		t.Errorf("%d requests are accounted for of %d, %d were answered", sum, q.Due, q.Answered)
	}
	return got
}

func TestAWholeRun(t *testing.T) {
	removed := lab.Moment(time.Second)
	x := start(t, short, add(0, "a", "10.0.1.1"), add(0, "b", "10.0.1.2"),
		lab.Event{At: removed, Kind: lab.Remove, Backend: "b", Address: "10.0.1.2", End: lab.Kill})
	got := run(t.Context(), t, x)
	if got.Failed != "" || got.Requests.Due != lab.Due(50, short) {
		t.Errorf("failed: %q; %d requests were due, want %d", got.Failed, got.Requests.Due, lab.Due(50, short))
	}
	if got.Cost.CPU <= 0 || got.Cost.Memory <= 0 || got.Updates < 2 {
		t.Errorf("cost %+v, %d updates", got.Cost, got.Updates)
	}
	for what, spans := range map[string][]lab.BackendSpan{"truth": got.Truth, "belief": got.Belief, "serving": got.Serving} {
		whole := map[string]lab.Span{}
		for _, s := range spans {
			if first, known := whole[s.Backend]; known {
				s.From = first.From
			}
			whole[s.Backend] = s.Span
		}
		if a, b := whole["a"], whole["b"]; a.To < short || b.To < removed || b.To >= short || b.From >= removed {
			t.Errorf("%s: a %v, b %v; want a until the end and b until about %v", what, a, b, time.Duration(removed))
		}
	}
	for _, stale := range got.Wrong.Stale {
		if stale.Backend != "b" || stale.From < removed {
			t.Errorf("stale: %+v", stale)
		}
	}
	if len(got.Wrong.Stale) == 0 || len(got.Wrong.Missing) == 0 {
		t.Errorf("it was never wrong: %+v", got.Wrong)
	}
}

// Whatever ends a run early is its failure, and what was measured until then is there.
func TestARunThatEndsEarly(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(t *testing.T, x experiment.Experiment, cancel context.CancelCauseFunc)
		want    string
	}{
		"cancelled": {
			func(_ *testing.T, _ experiment.Experiment, cancel context.CancelCauseFunc) {
				cancel(errors.New("that is enough"))
			},
			"that is enough",
		},
		"the proxy is killed": {
			func(t *testing.T, x experiment.Experiment, _ context.CancelCauseFunc) {
				kill(t, x.Proxy.Processes()[0])
			},
			"nginx ended with signal: killed",
		},
		"a backend is killed": {
			func(t *testing.T, _ experiment.Experiment, _ context.CancelCauseFunc) { kill(t, onlyBackend(t)) },
			"backend early at 10.0.1.1 ended by itself: signal: killed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			x := start(t, endless, add(0, "early", "10.0.1.1"), add(2*time.Second, "late", "10.0.1.2"))
			x.World = interrupted{x.World, func() { c.happens(t, x, cancel) }}
			got := run(ctx, t, x)
			if !strings.Contains(got.Failed, c.want) {
				t.Errorf("failed: %q, want %q", got.Failed, c.want)
			}
			if q := got.Requests; q.Due == 0 || q.Due > lab.Due(50, endless)/2 || len(got.Truth) == 0 || len(got.Serving) == 0 {
				t.Errorf("%d requests, truth %v, serving %v", q.Due, got.Truth, got.Serving)
			}
		})
	}
}

// What cannot begin says why, and begins nothing.
func TestARunThatDoesNotBegin(t *testing.T) {
	x := start(t, endless, add(0, "a", "10.0.1.1"))
	cause := errors.New("the others are not ready")
	if _, err := x.Run(t.Context(), func() error { return cause }); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Run(ctx, func() error { t.Error("begins"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if now := x.Clock.Now(); now != 0 {
		t.Errorf("the clock shows %v", now)
	}
}

// A load that is out of bounds ends the run and is its failure.
func TestABadLoad(t *testing.T) {
	x := start(t, endless, add(0, "a", "10.0.1.1"))
	x.Plan.Load.Rate = 0
	got, err := x.Run(t.Context(), func() error { return nil })
	if err != nil || !strings.Contains(got.Failed, "load: rate 0 is out of bounds") || got.Requests.Due != 0 {
		t.Errorf("error %v, failed: %q, %d requests", err, got.Failed, got.Requests.Due)
	}
}

// missed is a world that has missed packets.
type missed struct{ experiment.World }

func (w missed) TriesInVain() ([]lab.TryInVain, error) {
	found, err := w.World.TriesInVain()
	return found, errors.Join(err, errors.New("3 packets were missed"))
}

// A leg whose tries in vain were not all counted has failed, though its run is whole.
func TestMissedPacketsFailTheRun(t *testing.T) {
	x := start(t, lab.Moment(time.Second), add(0, "a", "10.0.1.1"))
	x.World = missed{x.World}
	got := run(t.Context(), t, x)
	if got.Failed != "3 packets were missed" || got.Requests.Due != 50 {
		t.Errorf("failed: %q, %d requests", got.Failed, got.Requests.Due)
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

// onlyBackend returns the process of the backend that runs. Nobody else is in here.
func onlyBackend(t *testing.T) (pid int) {
	t.Helper()
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		command, err := os.ReadFile(path)
		if err != nil || string(command) != strings.Join(arenatest.Backend(), "\x00")+"\x00" {
			continue
		}
		if pid != 0 {
			t.Error("there are several backends")
		}
		if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err != nil {
			t.Error(err)
		}
	}
	if pid == 0 {
		t.Error("there is no backend")
	}
	return pid
}
