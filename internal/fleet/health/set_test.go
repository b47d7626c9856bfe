package health

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// moments returns an engine that notes when it probes which proxy, each probe well and
// over at once, and the notes.
func moments(t *testing.T) (*Engine, *[]moment) {
	t.Helper()
	var all []moment
	note := make(chan moment, 1<<16)
	e := New(Options{
		Emit: func(string) bool { return true },
		Probe: func(_ context.Context, p Proxy) Result {
			note <- moment{p.Key, time.Now(), p.login(time.Time{})}
			return Result{Class: OK, Latency: time.Millisecond}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	collect := make(chan struct{})
	go func() {
		defer close(collect)
		for m := range note {
			all = append(all, m)
		}
	}()
	t.Cleanup(func() { <-done; close(note); <-collect })
	return e, &all
}

type moment struct {
	key   string
	at    time.Time
	login offer.Credentials
}

// addTo adds n proxies without a verdict.
func addTo(e *Engine, n int) {
	for i := range n {
		e.Set(proxyOf(i), time.Now())
	}
}

// TestAFewNewProxiesWaitForNothing: their first verdict is there within seconds, not
// after an interval.
func TestAFewNewProxiesWaitForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(5)
		time.Sleep(2 * time.Second)
		for i := range 5 {
			f.healthy(t, i, true)
		}
	})
}

// TestThousandsThatAreNewAtOnceAreSpread: no more begin in a second than the rate, with
// those that are at their place in the interval anyway, and none waits for longer than
// that.
func TestThousandsThatAreNewAtOnceAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, all := moments(t)
		began := time.Now()
		const n = 10_000
		addTo(e, n)
		time.Sleep(30*time.Second + time.Millisecond)
		synctest.Wait()
		first := map[string]bool{}
		var perSecond [31]int
		for _, m := range *all {
			if !first[m.key] {
				first[m.key] = true
				perSecond[int(m.at.Sub(began)/time.Second)]++
			}
		}
		if len(first) != n {
			t.Errorf("%d of %d were probed within an interval", len(first), n)
		}
		if most := slices.Max(perSecond[:]); most > firstRate+2*n/30 {
			t.Errorf("%v first probes a second", perSecond)
		}
	})
}

// TestProxiesThatWereNewAtOnceDoNotStayTogether: once they have a verdict each has its
// place in the interval, the same in another process.
func TestProxiesThatWereNewAtOnceDoNotStayTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := func() map[string]time.Duration {
			e, all := moments(t)
			addTo(e, 300)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			last := map[string]time.Duration{}
			for _, m := range *all {
				last[m.key] = time.Duration(m.at.UnixNano()) % check.Interval
			}
			return last
		}
		first, again := places(), places()
		var perSecond [30]int
		for key, place := range first {
			if again[key] != place {
				t.Errorf("%s is probed at %s of its interval, and at %s in another process", key, place, again[key])
			}
			perSecond[place/time.Second]++
		}
		if most := slices.Max(perSecond[:]); most > 30 {
			t.Errorf("probes a second %v", perSecond)
		}
	})
}

// TestOtherCredentialsHoldFromTheNextProbeOn, which does not wait if the last one failed.
func TestOtherCredentialsHoldFromTheNextProbeOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		p := proxyOf(0)
		p.Login = fixed("bob", "old")
		f.answer(0, Result{Class: AuthFailed})
		f.Set(p, time.Now())
		time.Sleep(time.Hour) // long dead
		f.healthy(t, 0, false)
		f.answer(0, Result{Class: OK})
		p.Login = fixed("bob", "new")
		f.Set(p, time.Now())
		time.Sleep(30 * time.Second)
		f.healthy(t, 0, true)
		if len(f.writes()) != 2 {
			t.Errorf("%d writes for two verdicts", len(f.writes()))
		}
		before := f.count(0)
		f.Set(p, time.Now())
		time.Sleep(time.Second)
		if f.count(0) != before {
			t.Error("the same values again made a probe")
		}
	})
}

// TestWhatAProbeFindsOfAProxyThatIsGoneDoesNotCount: of one that was removed, or is
// another one now, or is asked something else.
func TestWhatAProbeFindsOfAProxyThatIsGoneDoesNotCount(t *testing.T) {
	for name, change := range map[string]func(*fleet, Proxy){
		"removed": func(f *fleet, p Proxy) { f.Remove(p.Key) },
		"another instance": func(f *fleet, p Proxy) {
			p.Instance = "b"
			f.Set(p, time.Now())
		},
		"another of the name": func(f *fleet, p Proxy) {
			p.UID = "other"
			f.Set(p, time.Now())
		},
		"other credentials": func(f *fleet, p Proxy) {
			p.Login = fixed("bob", "new")
			f.Set(p, time.Now())
		},
		"another check": func(f *fleet, p Proxy) {
			p.Check.URL = "https://other.example/"
			f.Set(p, time.Now())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 0)
				p := proxyOf(0)
				p.Check.FailureThreshold = 1
				f.answer(0, Result{Class: Timeout, Latency: 5 * time.Second})
				f.Set(p, time.Now())
				time.Sleep(4 * time.Second) // it is under way
				f.answer(0, Result{Class: OK, Latency: time.Millisecond})
				change(f, p)
				time.Sleep(time.Minute)
				if s := f.snapshot(0); name != "removed" && (s == nil || !s.Healthy) || name == "removed" && (s != nil || len(f.writes()) > 0) {
					t.Errorf("verdict %+v, emitted %q", s, f.writes())
				}
				if len(f.writes()) > 1 {
					t.Errorf("emitted %q", f.writes())
				}
			})
		})
	}
}

// TestAnotherCheckKeepsTheVerdict until it has come to its own.
func TestAnotherCheckKeepsTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.add(1)
		time.Sleep(5 * time.Minute)
		p := proxyOf(0)
		p.Check.URL, p.Check.Interval = "https://other.example/", time.Hour
		f.Set(p, time.Now())
		f.healthy(t, 0, true)
		f.answer(0, Result{Class: BadStatus})
		time.Sleep(50 * time.Minute)
		f.healthy(t, 0, true)
		time.Sleep(2 * time.Hour)
		f.healthy(t, 0, false)
		p.Check.Interval = 10 * time.Second // it does not wait for the end of the hour
		f.answer(0, Result{Class: OK})
		f.Set(p, time.Now())
		time.Sleep(30 * time.Second)
		f.healthy(t, 0, true)
	})
}

// TestALongDeadProxyIsProbedSeldom, and often again once there is hope.
func TestALongDeadProxyIsProbedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		f.answer(0, Result{Class: Dial})
		f.add(1)
		time.Sleep(time.Hour)
		before := f.count(0)
		time.Sleep(time.Hour)
		if n := f.count(0) - before; n < 23 || n > 25 {
			t.Errorf("%d probes in an hour, every 150 s", n)
		}
		f.answer(0, Result{Class: OK})
		time.Sleep(150*time.Second + 11*time.Second)
		f.healthy(t, 0, true)
	})
}
