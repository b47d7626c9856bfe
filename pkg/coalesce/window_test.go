package coalesce_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/coalesce"
)

const ms = time.Millisecond

// addition is a change at a time after the start; a delay below zero means none of its own.
type addition struct{ at, delay time.Duration }

func plain(at ...time.Duration) []addition {
	var all []addition
	for _, a := range at {
		all = append(all, addition{a, -1})
	}
	return all
}

func TestBurstsEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		window coalesce.Window
		added  []addition
		want   []time.Duration // when bursts end
	}{
		{"one change waits for quiet", coalesce.New(5*ms, 50*ms), plain(0), []time.Duration{5 * ms}},
		{"each change restarts the quiet", coalesce.New(5*ms, 50*ms), plain(0, 3*ms, 6*ms), []time.Duration{11 * ms}},
		{"never quiet ends after the longest delay", coalesce.New(5*ms, 12*ms), plain(0, 3*ms, 6*ms, 9*ms), []time.Duration{12 * ms}},
		{"bursts far apart are two", coalesce.New(5*ms, 50*ms), plain(0, 20*ms), []time.Duration{5 * ms, 25 * ms}},
		{"an urgent change takes the burst along", coalesce.New(5*ms, 50*ms), append(plain(0), addition{2 * ms, 0}), []time.Duration{2 * ms}},
		{"an urgent change alone does not wait", coalesce.New(5*ms, 50*ms), []addition{{0, 0}}, []time.Duration{0}},
		{"a later change does not delay a pressing one", coalesce.New(5*ms, 50*ms), append([]addition{{0, 6 * ms}}, plain(4*ms)...), []time.Duration{6 * ms}},
		{"a delay longer than the longest is cut", coalesce.New(50*ms, 8*ms), []addition{{0, time.Hour}}, []time.Duration{8 * ms}},
		{"zero waits for nothing", coalesce.Window{}, plain(0, 1*ms), []time.Duration{0, 1 * ms}},
		{"negative counts as zero", coalesce.New(-ms, -ms), plain(0), []time.Duration{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := run(c.window, c.added); !slices.Equal(got, c.want) {
					t.Errorf("bursts ended at %v, want %v", got, c.want)
				}
			})
		})
	}
}

// run is the loop that a Window is made for. It returns when bursts ended.
func run(w coalesce.Window, added []addition) []time.Duration {
	start := time.Now()
	changes := make(chan time.Duration)
	go func() {
		defer close(changes)
		for _, a := range added {
			time.Sleep(time.Until(start.Add(a.at)))
			changes <- a.delay
		}
	}()
	var ended []time.Duration
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, open := w.Deadline()
		if !open && changes == nil {
			return ended
		}
		timer.Reset(time.Hour)
		if open {
			timer.Reset(time.Until(due))
		}
		select {
		case delay, ok := <-changes:
			switch {
			case !ok:
				changes = nil
			case delay < 0:
				w.Add(time.Now())
			default:
				w.AddWithin(time.Now(), delay)
			}
		case <-timer.C:
			if w.Take(time.Now()) {
				ended = append(ended, time.Since(start))
			}
		}
	}
}

func TestLateReportShortensNothing(t *testing.T) {
	w, start := coalesce.New(5*ms, 50*ms), time.Unix(0, 0)
	w.Add(start.Add(10 * ms))
	w.Add(start.Add(8 * ms))
	if due, _ := w.Deadline(); !due.Equal(start.Add(15 * ms)) {
		t.Errorf("due after %v, want 15ms", due.Sub(start))
	}
}

func TestEmptyWindowIsNeverDue(t *testing.T) {
	w := coalesce.New(0, 0)
	if _, open := w.Deadline(); open || w.Take(time.Now()) {
		t.Error("an empty window is due")
	}
}

func TestAddCostsNoAllocation(t *testing.T) {
	w, now := coalesce.New(5*ms, 50*ms), time.Unix(0, 0)
	if n := testing.AllocsPerRun(100, func() { w.Add(now); w.Take(now.Add(time.Second)) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
