package peer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
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
