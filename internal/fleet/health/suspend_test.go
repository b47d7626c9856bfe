package health

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// settled is a fleet of n with good verdicts.
func settled(t *testing.T, n int) *fleet {
	t.Helper()
	f := newFleet(t, 0)
	f.add(n)
	time.Sleep(5 * time.Minute)
	for i := range n {
		f.healthy(t, i, true)
	}
	return f
}

// fail makes those from first to last, without it, fail from now on.
func (f *fleet) fail(first, last int) {
	for i := first; i < last; i++ {
		f.answer(i, Result{Class: Timeout})
	}
}

// bad counts bad verdicts.
func (f *fleet) bad(n int) (bad int) {
	for i := range n {
		if s := f.snapshot(i); s != nil && !s.Healthy {
			bad++
		}
	}
	return bad
}

func TestManyThatFailAtOnceKeepTheirVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := settled(t, 20)
		f.fail(0, 20)
		time.Sleep(5 * time.Minute)
		if n := f.bad(20); n > 0 || f.Engine.Suspended().IsZero() {
			t.Errorf("%d turned bad, suspended since %v", n, f.Engine.Suspended())
		}
		// It is bounded: who fails for long is believed at last.
		time.Sleep(2 * time.Minute)
		if n := f.bad(20); n != 20 {
			t.Errorf("%d turned bad once it was over", n)
		}
		time.Sleep(5 * time.Minute)
		if fmt.Sprint(f.told()) != "[true false]" || !f.Engine.Suspended().IsZero() || !f.Doubtful() {
			t.Errorf("told %v, suspended since %v, in doubt %v", f.told(), f.Engine.Suspended(), f.Doubtful())
		}
	})
}

func TestATargetThatComesBackCostsNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := settled(t, 20)
		f.fail(0, 20)
		time.Sleep(3 * time.Minute)
		for i := range 20 {
			f.answer(i, Result{Class: OK, Latency: 30 * time.Millisecond})
		}
		time.Sleep(10 * time.Minute)
		if len(f.writes()) != 20 || fmt.Sprint(f.told()) != "[true false]" || f.Doubtful() {
			t.Errorf("%d writes for 20 verdicts, suspended %v", len(f.writes()), f.told())
		}
	})
}

// TestVerdictsThatTurnAtOnceCountToo: with a threshold of one, no more than the share is
// lost before verdicts are held.
func TestVerdictsThatTurnAtOnceCountToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		for i := range 100 {
			p := proxyOf(i)
			p.Check.FailureThreshold = 1
			f.Set(p, time.Now())
		}
		time.Sleep(5 * time.Minute)
		f.fail(0, 100)
		time.Sleep(2 * time.Minute)
		if n := f.bad(100); n < 25 || n > 30 {
			t.Errorf("%d of 100 turned bad, want as many as the share", n)
		}
	})
}

func TestAFewThatFailAreBelieved(t *testing.T) {
	for _, c := range []struct{ fleet, fail int }{{20, 6}, {4, 4}, {1, 1}} {
		t.Run(fmt.Sprintf("%d of %d", c.fail, c.fleet), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := settled(t, c.fleet)
				f.fail(0, c.fail)
				time.Sleep(2 * time.Minute)
				if n := f.bad(c.fleet); n != c.fail || len(f.told()) != 0 {
					t.Errorf("%d turned bad, suspended %v", n, f.told())
				}
			})
		})
	}
}

// TestWhoIsNewWhileVerdictsAreHeld gets a good verdict, and a bad one afterwards.
func TestWhoIsNewWhileVerdictsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := settled(t, 20)
		f.fail(0, 20)
		time.Sleep(time.Minute)
		f.fail(21, 22)
		f.Set(proxyOf(20), time.Now())
		f.Set(proxyOf(21), time.Now())
		time.Sleep(2 * time.Minute)
		f.healthy(t, 20, true)
		if s := f.snapshot(21); s != nil {
			t.Errorf("verdict %+v while verdicts are held", s)
		}
		time.Sleep(5 * time.Minute)
		f.healthy(t, 21, false)
	})
}

// TestASuspensionDoesNotGoOnForBeingInterrupted: a share that goes up and down around the
// bound holds verdicts for no longer than one that stays.
func TestASuspensionDoesNotGoOnForBeingInterrupted(t *testing.T) {
	var w weather
	now := time.Now()
	w.good, w.shaky = 10, 4
	held := 0
	for range 600 { // seconds
		now = now.Add(time.Second)
		w.shaky = 7 - w.shaky // 3 and 4, in turn
		if w.holds(now) {
			held++
		}
	}
	if held > int(maxSuspension/time.Second) {
		t.Errorf("held for %d s of ten minutes", held)
	}
	w.shaky = 0
	for range 61 {
		now = now.Add(time.Second)
		w.holds(now)
	}
	w.shaky = 4
	if !w.holds(now) {
		t.Error("another one does not hold")
	}
}

// TestSuspensionIsLogged once when it begins and once when it ends.
func TestSuspensionIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := settled(t, 20)
		var out bytes.Buffer
		f.Engine.mu.Lock()
		f.options.Log = slog.New(slog.NewTextHandler(&out, nil))
		f.Engine.mu.Unlock()
		f.fail(0, 20)
		time.Sleep(20 * time.Minute)
		f.Engine.mu.Lock() // as the engine does
		text := out.String()
		f.Engine.mu.Unlock()
		if strings.Count(text, "level=WARN") != 1 || strings.Count(text, "level=INFO") != 1 || !strings.Contains(text, "total=20") {
			t.Error(text)
		}
	})
}

// TestTheFleetIsCountedRight whatever happens in whatever order: what is kept up to date
// is what a count of all finds.
func TestTheFleetIsCountedRight(t *testing.T) {
	drive(t, func(t failer, e *Engine, _ time.Time) {
		var want weather
		fallen := 0
		for _, s := range e.states {
			want.enter(s)
			if !s.fell.IsZero() {
				fallen++
			}
		}
		w := e.weather
		if w.good != want.good || w.bad != want.bad || w.shaky != want.shaky || w.fallen != fallen {
			t.Fatalf("kept %+v, counted %+v and %d fallen", w, want, fallen)
		}
	})
}
