package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// lines is a Waiting with a few proxies of one lease each, in a bubble.
type lines struct {
	*testing.T
	*lease.Waiting
	memory *lease.Memory
}

func bubble(t *testing.T, o lease.WaitOptions, proxies int, test func(l lines)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		memory := lease.NewMemory(lease.Options{})
		l := lines{t, lease.NewWaiting(memory, o), memory}
		for i := range proxies {
			l.tell(i, nil)
		}
		test(l)
		synctest.Wait()
		if n := l.Waiters(); n != 0 {
			t.Errorf("%d wait still", n)
		}
	})
}

func (l lines) tell(i int, change func(*lease.Proxy)) {
	l.Helper()
	p := lease.Proxy{UID: fmt.Sprint(i), Namespace: "n", Name: fmt.Sprint("p", i), Instance: "i", Healthy: true, Capacity: 1}
	if change != nil {
		change(&p)
	}
	if err := l.Set(l.Context(), p); err != nil {
		l.Fatal(err)
	}
}

// hold takes a lease that there is.
func (l lines) hold(ttl time.Duration) lease.Lease {
	l.Helper()
	got, err := l.AcquireWithin(l.Context(), lease.Request{TTL: ttl}, 0)
	if err != nil {
		l.Fatal(err)
	}
	return got
}

func (l lines) free(id string) {
	l.Helper()
	if err := l.Release(l.Context(), id); err != nil {
		l.Fatal(err)
	}
}

// answer is what a request that waited got, and after how long.
type answer struct {
	lease.Lease
	err   error
	after time.Duration
	done  bool
}

// wait asks from another goroutine, and returns once that stands in line.
func (l lines) wait(ctx context.Context, r lease.Request, wait time.Duration) *answer {
	l.Helper()
	a, began := new(answer), time.Now()
	if r.TTL == 0 {
		r.TTL = time.Minute
	}
	go func() {
		a.Lease, a.err = l.AcquireWithin(ctx, r, wait)
		a.after, a.done = time.Since(began), true
	}()
	synctest.Wait()
	return a
}

func (l lines) granted(a *answer) {
	l.Helper()
	if synctest.Wait(); !a.done || a.err != nil {
		l.Fatalf("done %v, error %v: must be granted", a.done, a.err)
	}
}

func (l lines) waits(a *answer) {
	l.Helper()
	if synctest.Wait(); a.done {
		l.Fatalf("got %q (%v), must wait", a.ID, a.err)
	}
}

func TestFirstComeFirstServed(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		held := l.hold(time.Hour).ID
		var all []*answer
		for range 5 {
			all = append(all, l.wait(l.Context(), lease.Request{TTL: time.Hour}, lease.MaxWait))
		}
		for i, a := range all {
			l.free(held)
			l.granted(a)
			for _, later := range all[i+1:] {
				l.waits(later)
			}
			held = a.ID
		}
	})
}

// TestNobodyOvertakes: a proxy that was freed is that of who waits, who may not have
// noticed yet.
func TestNobodyOvertakes(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		held := l.hold(time.Hour)
		first := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
		l.free(held.ID)
		_, err := l.AcquireWithin(l.Context(), lease.Request{TTL: time.Minute}, 0)
		if no, ok := errors.AsType[*lease.NoMatchError](err); !ok || no.AtCapacity != 1 {
			l.Errorf("error %v, must be refused", err)
		}
		l.granted(first)
	})
}

// TestWaitIsOver: who waited in vain gets the refusal, at the time that was asked for.
func TestWaitIsOver(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{0: 0, 3 * time.Second: 3 * time.Second, time.Hour: lease.MaxWait} {
		bubble(t, lease.WaitOptions{}, 1, func(l lines) {
			l.hold(time.Hour)
			first, behind := l.wait(l.Context(), lease.Request{}, wait), l.wait(l.Context(), lease.Request{}, wait)
			time.Sleep(wait)
			synctest.Wait()
			for _, a := range []*answer{first, behind} {
				if no, ok := errors.AsType[*lease.NoMatchError](a.err); !ok || no.AtCapacity != 1 || a.after != want {
					l.Errorf("%v after %v, must be a refusal after %v", a.err, a.after, want)
				}
			}
		})
	}
}

// TestTimeFrees: who waits is served at the moment when a lease or a cooldown ends.
func TestTimeFrees(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		held := l.hold(7 * time.Second)
		first := l.wait(l.Context(), lease.Request{TTL: 5 * time.Second}, lease.MaxWait)
		second := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
		if _, err := l.Renew(l.Context(), held.ID, 2*time.Second); err != nil {
			l.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		l.granted(first)
		l.granted(second)
		if first.after != 2*time.Second || second.after != 7*time.Second {
			l.Errorf("served after %v and %v, must 2s and 7s", first.after, second.after)
		}
	})
}

func TestCooldownEndsWhileOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := lease.Windows{Cooldown: 4 * time.Second, Max: time.Hour, Burst: time.Second}
		memory := lease.NewMemory(lease.Options{Windows: w})
		l := lines{t, lease.NewWaiting(memory, lease.WaitOptions{}), memory}
		l.tell(1, func(p *lease.Proxy) { p.Capacity = 0 })
		if err := l.Report(t.Context(), l.hold(time.Hour).ID, lease.Banned, ""); err != nil {
			t.Fatal(err)
		}
		a := l.wait(t.Context(), lease.Request{}, lease.MaxWait)
		time.Sleep(5 * time.Second)
		if l.granted(a); a.after != w.Cooldown {
			t.Errorf("served after %v, must %v", a.after, w.Cooldown)
		}
	})
}

// TestWhatFrees: what may suit now wakes who waits, whoever tells the store itself.
func TestWhatFrees(t *testing.T) {
	for name, free := range map[string]func(l lines){
		"a new proxy":     func(l lines) { l.tell(2, nil) },
		"healthy":         func(l lines) { l.tell(1, nil) },
		"more capacity":   func(l lines) { l.tell(0, func(p *lease.Proxy) { p.Capacity = 2 }) },
		"a new instance":  func(l lines) { l.tell(0, func(p *lease.Proxy) { p.Instance = "new" }) },
		"the store alone": func(l lines) { _ = l.memory.Set(l.Context(), lease.Proxy{UID: "3", Healthy: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, lease.WaitOptions{}, 1, func(l lines) {
				l.tell(1, func(p *lease.Proxy) { p.Healthy = false })
				l.hold(time.Hour)
				a := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
				l.waits(a)
				free(l)
				l.granted(a)
			})
		})
	}
}

// TestOnlyThoseThatMatch: a proxy that is freed wakes those whose selector it matches.
func TestOnlyThoseThatMatch(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 0, func(l lines) {
		attributes := func(country string) map[string]string { return map[string]string{"country": country} }
		l.tell(1, func(p *lease.Proxy) { p.Attributes = attributes("de") })
		held := l.hold(time.Hour)
		de := l.wait(l.Context(), lease.Request{Selector: lease.Selector{Attributes: attributes("de")}}, lease.MaxWait)
		fr := l.wait(l.Context(), lease.Request{Selector: lease.Selector{Attributes: attributes("fr")}}, lease.MaxWait)
		l.free(held.ID)
		l.granted(de)
		l.waits(fr)
		l.tell(2, func(p *lease.Proxy) { p.Attributes = attributes("fr") })
		l.granted(fr)
	})
}

func TestTooManyWait(t *testing.T) {
	bubble(t, lease.WaitOptions{Most: 2}, 1, func(l lines) {
		held := l.hold(time.Hour)
		ctx, cancel := context.WithCancel(l.Context())
		l.wait(ctx, lease.Request{}, lease.MaxWait)
		l.wait(ctx, lease.Request{Target: "a.example"}, lease.MaxWait)
		if a := l.wait(l.Context(), lease.Request{Target: "b.example"}, time.Second); !errors.Is(a.err, lease.ErrTooMany) {
			l.Errorf("error %v, must be that too many wait", a.err)
		}
		if a := l.wait(l.Context(), lease.Request{}, 0); errors.Is(a.err, lease.ErrTooMany) || a.err == nil {
			l.Errorf("error %v: who does not wait is refused", a.err)
		}
		cancel()
		synctest.Wait()
		a := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
		l.free(held.ID)
		l.granted(a)
	})
}

// TestHangUp: who hangs up goes at once, whatever it is about to get, and the next has it.
func TestHangUp(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		held := l.hold(time.Hour)
		ctx, hangUp := context.WithCancel(l.Context())
		first := l.wait(ctx, lease.Request{}, lease.MaxWait)
		second := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
		time.Sleep(time.Second)
		hangUp()
		l.free(held.ID)
		l.granted(second)
		if !errors.Is(first.err, context.Canceled) || first.after != time.Second {
			l.Errorf("%v after %v, must be canceled after 1s", first.err, first.after)
		}
	})
}

// TestHeadHangsUp: who stood behind one that hung up is served when time frees a proxy,
// though it has never asked the store.
func TestHeadHangsUp(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		l.hold(5 * time.Second)
		ctx, hangUp := context.WithCancel(l.Context())
		l.wait(ctx, lease.Request{}, lease.MaxWait)
		second := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
		hangUp()
		time.Sleep(6 * time.Second)
		if l.granted(second); second.after != 5*time.Second {
			l.Errorf("served after %v, must 5s", second.after)
		}
	})
}

// late is a store whose answers take a while to arrive.
type late struct{ *lease.Memory }

func (s late) Acquire(ctx context.Context, r lease.Request) (lease.Lease, error) {
	got, err := s.Memory.Acquire(ctx, r)
	time.Sleep(10 * time.Millisecond)
	return got, err
}

// TestHangUpAtTheGrant: a lease whose grant nobody heard is given back, unless its key
// will find it.
func TestHangUpAtTheGrant(t *testing.T) {
	for key, want := range map[string]int{"": 0, "k": 1} {
		bubble(t, lease.WaitOptions{}, 1, func(l lines) {
			slow := lines{l.T, lease.NewWaiting(late{l.memory}, lease.WaitOptions{}), l.memory}
			ctx, hangUp := context.WithCancel(l.Context())
			slow.wait(ctx, lease.Request{Key: key}, 0)
			hangUp()
			time.Sleep(20 * time.Millisecond)
			if n := load(l.T, l.memory, "0"); n != want {
				l.Errorf("%d leases with key %q, must be %d", n, key, want)
			}
		})
	}
}

// TestFreedMeanwhile: what is freed after the store has refused, and before the one who
// asked knows, is not lost on it.
func TestFreedMeanwhile(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		slow := lines{l.T, lease.NewWaiting(late{l.memory}, lease.WaitOptions{}), l.memory}
		held := l.hold(time.Hour)
		a := slow.wait(l.Context(), lease.Request{}, lease.MaxWait)
		time.Sleep(15 * time.Millisecond) // it asks the second time, in line
		synctest.Wait()
		l.free(held.ID)
		time.Sleep(time.Second)
		if l.granted(a); a.after > 50*time.Millisecond {
			l.Errorf("served after %v, must at once", a.after)
		}
	})
}

// TestExclusions: who excludes what there is holds nobody up, and is first where it can
// be served.
func TestExclusions(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 2, func(l lines) {
		held := []lease.Lease{l.hold(time.Hour), l.hold(time.Hour)}
		picky := l.wait(l.Context(), lease.Request{Exclude: []string{"n/p0"}}, lease.MaxWait)
		plain := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
		third := l.wait(l.Context(), lease.Request{}, lease.MaxWait)
		l.free(held[0].ID)
		l.granted(plain)
		l.waits(picky)
		l.free(held[1].ID)
		l.granted(picky)
		l.waits(third)
		l.free(plain.ID)
		l.granted(third)
	})
}

// TestKeyNeedsNoTurn: a lease that a key has is not waited for.
func TestKeyNeedsNoTurn(t *testing.T) {
	bubble(t, lease.WaitOptions{}, 1, func(l lines) {
		q := lease.Request{TTL: time.Minute, Key: "k"}
		held, err := l.AcquireWithin(l.Context(), q, 0)
		if err != nil {
			l.Fatal(err)
		}
		others := l.wait(l.Context(), lease.Request{}, time.Second)
		again := l.wait(l.Context(), q, lease.MaxWait)
		if l.granted(again); again.ID != held.ID || again.after != 0 {
			l.Errorf("got %s after %v, must be %s at once", again.ID, again.after, held.ID)
		}
		time.Sleep(time.Second)
		l.waitsNoMore(others)
	})
}

func (l lines) waitsNoMore(a *answer) {
	l.Helper()
	if synctest.Wait(); !a.done {
		l.Fatal("waits still")
	}
}
