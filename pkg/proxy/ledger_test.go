package proxy

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at is a moment of a test's clock.
func at(d time.Duration) time.Time { return time.Unix(1000, 0).Add(d) }

func deaf(int) bool { return false }

// newLedger has one place for each kind of connection, and graces of 1 s and 10 s.
func newLedger(connections, extra, pending int) *ledger[int] {
	return &ledger[int]{limits: Limits{
		Connections: connections, Extra: extra, Pending: pending,
		SilentGrace: time.Second, SpokenGrace: 10 * time.Second,
	}}
}

func enters(t *testing.T, l *ledger[int], conn int, now time.Time) *entry[int] {
	t.Helper()
	got := l.arrive(conn, now, deaf)
	if got.entry == nil || got.evict != nil {
		t.Fatalf("%d: %+v", conn, got)
	}
	return got.entry
}

func TestSilentGivesWay(t *testing.T) {
	l := newLedger(0, 0, 2)
	oldest := enters(t, l, 1, at(0))
	enters(t, l, 2, at(time.Millisecond))
	if got := l.arrive(3, at(400*time.Millisecond), deaf); got.entry != nil || got.refuse || got.wait != 600*time.Millisecond {
		t.Errorf("within the grace: %+v", got)
	}
	if got := l.arrive(3, at(time.Second), deaf); got.entry == nil || got.evict != oldest {
		t.Errorf("after the grace: %+v", got)
	}
	if l.admit(oldest) {
		t.Error("who lost its place was admitted")
	}
}

func TestSpokenKeepsItsPlaceLonger(t *testing.T) {
	l := newLedger(0, 0, 1)
	e := enters(t, l, 1, at(0))
	l.speak(e)
	if got := l.arrive(2, at(4*time.Second), deaf); got.entry != nil || got.wait != 6*time.Second {
		t.Errorf("within the grace: %+v", got)
	}
	if got := l.arrive(2, at(10*time.Second), deaf); got.entry == nil || got.evict != e {
		t.Errorf("after the grace: %+v", got)
	}
}

// TestHeardIsNotSilent: a handler that had no time to read is not its peer's fault.
func TestHeardIsNotSilent(t *testing.T) {
	l := newLedger(0, 0, 2)
	first := enters(t, l, 1, at(0))
	second := enters(t, l, 2, at(0))
	got := l.arrive(3, at(2*time.Second), func(conn int) bool { return conn == 1 })
	if got.evict != second || first.place != spoken {
		t.Errorf("%+v, the first is at %v", got, first.place)
	}
}

func TestBeyondTheLimit(t *testing.T) {
	l := newLedger(1, 1, 10)
	served := enters(t, l, 1, at(0))
	for range 2 {
		if !l.admit(served) {
			t.Fatal("not admitted")
		}
	}
	extra := enters(t, l, 2, at(0))
	l.speak(extra)
	if l.admit(extra) {
		t.Error("admitted beyond the limit")
	}
	if got := l.arrive(3, at(time.Second), deaf); !got.refuse {
		t.Errorf("beyond the extra ones: %+v", got)
	}
	l.leave(served)
	if l.admit(extra) {
		t.Error("the answer changed after the peer was told")
	}
	if e := enters(t, l, 4, at(0)); !l.admit(e) {
		t.Error("the place was not given back")
	}
}

// TestLedgerAddsUp: no budget is exceeded, and nobody is counted twice.
func TestLedgerAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger(rapid.IntRange(0, 3).Draw(t, "connections"), rapid.IntRange(-1, 2).Draw(t, "extra"), rapid.IntRange(1, 4).Draw(t, "pending"))
		var present []*entry[int]
		now := at(0)
		for i := range 60 {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
			switch what := rapid.IntRange(0, 5).Draw(t, "what"); {
			case what < 3:
				got := l.arrive(i, now, func(c int) bool { return c%5 == 0 })
				if got.entry != nil {
					present = append(present, got.entry)
				} else if got.refuse != l.full() || !got.refuse && got.wait <= 0 {
					t.Fatalf("neither in, nor refused, nor told to wait: %+v", got)
				}
			case len(present) > 0:
				e := rapid.SampledFrom(present).Draw(t, "who")
				[]func(){func() { l.speak(e) }, func() { l.admit(e) }, func() { l.leave(e) }}[what-3]()
			}
			counts := [admitted + 1]int{}
			for _, e := range present {
				counts[e.place]++
			}
			if counts[silent] != l.pending[silent].Len() || counts[spoken] != l.pending[spoken].Len() || counts[admitted] != l.admitted {
				t.Fatalf("counted %v, the ledger says %d, %d, %d", counts, l.pending[silent].Len(), l.pending[spoken].Len(), l.admitted)
			}
			if l.waiting() > l.limits.Pending || l.limits.Connections > 0 && l.admitted > l.limits.Connections {
				t.Fatalf("%d pending, %d admitted", l.waiting(), l.admitted)
			}
		}
	})
}
