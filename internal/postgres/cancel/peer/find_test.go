package peer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestPeersAreFound(t *testing.T) {
	answers := map[string][]netip.Addr{
		"peers": {netip.MustParseAddr("10.0.0.3"), netip.MustParseAddr("::ffff:10.0.0.2"), netip.MustParseAddr("fd00::1"), netip.MustParseAddr("10.0.0.9")},
	}
	var fails error
	c := asker(t, []byte{1}, "peers:7432", "10.0.0.2:7432", "10.0.0.2:7433", "missing:1")
	f := c.finder
	f.self = netip.MustParseAddrPort("10.0.0.9:7432")
	f.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		if all, known := answers[host]; known && fails == nil {
			return all, nil
		}
		return nil, errors.Join(errors.New("no such host"), fails)
	}
	found := func() string {
		f.at = time.Time{}
		return fmt.Sprint(f.others(t.Context()))
	}
	want := "[10.0.0.2:7432 10.0.0.2:7433 10.0.0.3:7432 [fd00::1]:7432]"
	if got := found(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	fails = errors.New("DNS is down")
	if got := found(); got != want {
		t.Errorf("without DNS: got %s, want %s", got, want)
	}
	fails, answers["peers"] = nil, answers["peers"][:1]
	if got, want := found(), "[10.0.0.2:7432 10.0.0.2:7433 10.0.0.3:7432]"; got != want {
		t.Errorf("after a change: got %s, want %s", got, want)
	}
	f.leave(netip.MustParseAddrPort("10.0.0.3:7432"))
	if got, want := found(), "[10.0.0.2:7432 10.0.0.2:7433]"; got != want {
		t.Errorf("without one that is down: got %s, want %s", got, want)
	}
	f.down[netip.MustParseAddrPort("10.0.0.3:7432")] = time.Now()
	if got, want := found(), "[10.0.0.2:7432 10.0.0.2:7433 10.0.0.3:7432]"; got != want {
		t.Errorf("once its time is over: got %s, want %s", got, want)
	}
}

// A replica that listens everywhere is at each of its addresses.
func TestSelfIsEveryOwnAddress(t *testing.T) {
	c := asker(t, []byte{1}, "127.0.0.1:7432", "127.0.0.1:7433", "localhost:7433")
	c.finder.self = netip.MustParseAddrPort("0.0.0.0:7432")
	for _, a := range c.finder.others(t.Context()) {
		if a.Port() == 7432 {
			t.Errorf("%s is itself", a)
		}
	}
	if len(c.finder.others(t.Context())) == 0 {
		t.Error("another port of this machine is another replica")
	}
}

// While one question looks names up, the others go to those found last, unless that is
// long ago: a roll-out may have replaced them all.
func TestOneLookupHoldsUpNobodyElse(t *testing.T) {
	const slow = 900 * time.Millisecond
	for name, c := range map[string]struct {
		idle, first, others time.Duration
		found               string
	}{
		"fresh":    {foundAge - 1, 0, 0, "[10.0.0.1:1]"},
		"older":    {foundAge, slow, 0, "[10.0.0.1:1]"},
		"very old": {stillAge, slow, slow, "[10.0.0.2:1]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := asker(t, []byte{1}, "peers:1").finder
				var lookups byte
				f.lookup = func(context.Context, string) ([]netip.Addr, error) {
					lookups++
					time.Sleep(slow)
					return []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, lookups})}, nil
				}
				f.others(t.Context())
				time.Sleep(c.idle)
				started := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() {
					f.others(t.Context())
					if took := time.Since(started); took != c.first {
						t.Errorf("the first waits %v, want %v", took, c.first)
					}
				})
				synctest.Wait()
				for range 9 {
					wg.Go(func() {
						f.leave(netip.MustParseAddrPort("10.0.0.9:1"))
						got := fmt.Sprint(f.others(t.Context()))
						if took := time.Since(started); got != c.found || took != c.others {
							t.Errorf("another one gets %s after %v, want %s after %v", got, took, c.found, c.others)
						}
					})
				}
				wg.Wait()
				if lookups > 2 {
					t.Errorf("%d lookups", lookups)
				}
			})
		})
	}
}

// Who waits for the lookup of another one gives up in time.
func TestWaitingForALookupEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := asker(t, []byte{1}, "peers:1").finder
		f.lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		started := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { f.others(t.Context()) })
		synctest.Wait()
		ctx, done := context.WithTimeout(t.Context(), lookupTimeout/2)
		defer done()
		if got := f.others(ctx); len(got) > 0 || time.Since(started) != lookupTimeout/2 {
			t.Errorf("got %v after %v", got, time.Since(started))
		}
		wg.Wait()
		if took := time.Since(started); took != lookupTimeout {
			t.Errorf("the lookup took %v", took)
		}
	})
}
