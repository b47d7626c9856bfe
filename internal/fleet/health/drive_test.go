package health

import (
	"container/heap"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type failer interface{ Fatalf(string, ...any) }

// drive lets anything happen to an engine, without its loop, and asks after each step
// whether what must hold does.
func drive(t *testing.T, holds func(t failer, e *Engine, now time.Time)) {
	rapid.Check(t, func(t *rapid.T) {
		d := &driver{T: t, now: time.Unix(1_800_000_000, 0)}
		d.e = New(Options{Emit: func(string) bool { return rapid.IntRange(0, 4).Draw(t, "emit") > 0 }})
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			d.step()
			holds(t, d.e, d.now)
		}
	})
}

type driver struct {
	*rapid.T
	e      *Engine
	now    time.Time
	flying []flight
}

type flight struct {
	s       *state
	version int
	began   time.Time
}

func (d *driver) step() {
	d.now = d.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Second, 3 * time.Minute}).Draw(d.T, "time"))
	i := rapid.IntRange(0, 7).Draw(d.T, "proxy")
	switch rapid.IntRange(0, 9).Draw(d.T, "what") {
	case 0:
		d.e.Remove(key(i))
	case 1, 2:
		d.e.Set(d.proxy(i), d.now)
	case 3, 4, 5:
		d.begin()
	default:
		d.land()
	}
}

func (d *driver) proxy(i int) Proxy {
	p := proxyOf(i)
	p.Instance = rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(d.T, "instance")
	p.UID = fmt.Sprint("uid-", rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(d.T, "uid"))
	p.Check.FailureThreshold = rapid.IntRange(1, 2).Draw(d.T, "threshold")
	p.Login = fixed("bob", rapid.SampledFrom([]string{"a", "a", "b"}).Draw(d.T, "password"))
	if rapid.Bool().Draw(d.T, "known") {
		p.Known = &Known{Healthy: rapid.Bool().Draw(d.T, "healthy")}
	}
	return p
}

// begin is a probe of the proxy that is due first.
func (d *driver) begin() {
	if len(d.e.due) > 0 {
		s := heap.Pop(&d.e.due).(*state)
		d.flying = append(d.flying, flight{s, s.version, d.now})
	}
}

func (d *driver) land() {
	if len(d.flying) > 0 {
		f := d.flying[0]
		d.flying = d.flying[1:]
		class := rapid.SampledFrom([]Class{OK, OK, Timeout}).Draw(d.T, "class")
		d.e.land(f.s, f.version, Result{Class: class}, f.began, d.now)
	}
}

// TestEveryProxyIsDueOrUnderWay, in order, and never in the past of its last probe by
// more than a pause.
func TestEveryProxyIsDueOrUnderWay(t *testing.T) {
	drive(t, func(t failer, e *Engine, now time.Time) {
		queued := 0
		for key, s := range e.states {
			switch {
			case s.gone || s.proxy.Key != key:
				t.Fatalf("%s is gone", key)
			case s.place < 0:
			case e.due[s.place] != s:
				t.Fatalf("%s is not at its place", key)
			default:
				queued++
				if s.next.After(now.Add(maxInterval)) {
					t.Fatalf("%s is due in %s", key, s.next.Sub(now))
				}
			}
		}
		if queued != len(e.due) {
			t.Fatalf("%d are due, %d of them are known", len(e.due), queued)
		}
	})
}
