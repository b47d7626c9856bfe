package cancel

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Unix(1_800_000_000, 0)

// account is a network in the naive limiter. It counts eighths of a token, so that it
// has no fractions.
type account struct {
	network string
	eighths int
	at      time.Time
}

// accounts are a limiter as Limits describe it, the last to ask at the end.
type accounts []account

func (a *accounts) allow(network string, limits Limits, now time.Time) bool {
	mine := account{network: network, eighths: 8 * limits.Burst, at: now}
	if i := slices.IndexFunc(*a, func(b account) bool { return b.network == network }); i >= 0 {
		mine = (*a)[i]
		*a = slices.Delete(*a, i, i+1)
	} else if len(*a) == limits.Networks {
		*a = slices.Delete(*a, 0, 1)
	}
	gained := int(now.Sub(mine.at)/(time.Second/8)) * int(limits.Rate)
	mine.eighths, mine.at = min(mine.eighths+gained, 8*limits.Burst), now
	allowed := mine.eighths >= 8
	if allowed {
		mine.eighths -= 8
	}
	*a = append(*a, mine)
	return allowed
}

// clients are addresses by the network that they must be counted with.
var clients = map[string][]string{
	"a": {"192.0.2.1", "192.0.2.200", "::ffff:192.0.2.7"},
	"b": {"192.0.3.1"},
	"c": {"2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:0:8000::%eth0"},
	"d": {"2001:db8:0:1::1"},
	"e": {""},
}

func TestLimiterIsTheNaiveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			Rate:     float64(rapid.IntRange(1, 8).Draw(t, "rate")),
			Burst:    rapid.IntRange(1, 4).Draw(t, "burst"),
			Networks: rapid.IntRange(1, 6).Draw(t, "networks"),
		}
		now, model := start, accounts{}
		l := NewLimiter(limits, func() time.Time { return now })
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Second / 8 * time.Duration(rapid.IntRange(0, 8).Draw(t, "pause")))
			network := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "network")
			client, _ := netip.ParseAddr(rapid.SampledFrom(clients[network]).Draw(t, "client"))
			if got, want := l.Allow(client), model.allow(network, limits, now); got != want {
				t.Fatalf("Allow(%v) at %v = %v, want %v", client, now.Sub(start), got, want)
			}
			if l.networks.Len() != len(model) {
				t.Fatalf("%d networks are remembered, want %d", l.networks.Len(), len(model))
			}
		}
	})
}

func TestNoRateIsNoLimit(t *testing.T) {
	l := NewLimiter(Limits{}, func() time.Time { return start })
	for range 1000 {
		if !l.Allow(netip.MustParseAddr("192.0.2.1")) {
			t.Fatal("refused")
		}
	}
	if l.networks.Len() != 0 {
		t.Errorf("%d networks are remembered for nothing", l.networks.Len())
	}
}

func TestAClockThatGoesBackGivesNothing(t *testing.T) {
	now := start
	l := NewLimiter(Limits{Rate: 1, Burst: 1, Networks: 1}, func() time.Time { return now })
	client := netip.MustParseAddr("192.0.2.1")
	l.Allow(client)
	now = start.Add(-time.Hour)
	if l.Allow(client) {
		t.Error("allowed twice")
	}
}

func TestAllowOfAKnownNetworkAllocatesNothing(t *testing.T) {
	l := NewLimiter(Limits{Rate: 1, Burst: 1, Networks: 2}, func() time.Time { return start })
	for _, client := range []string{"192.0.2.1", "2001:db8::1"} {
		addr := netip.MustParseAddr(client)
		if n := testing.AllocsPerRun(100, func() { l.Allow(addr) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", client, n)
		}
	}
}

func ExampleNetwork() {
	for _, addr := range []string{"192.0.2.77", "::ffff:192.0.2.77", "2001:db8::77"} {
		fmt.Println(Network(netip.MustParseAddr(addr)))
	}
	// Output:
	// 192.0.2.0/24
	// 192.0.2.0/24
	// 2001:db8::/64
}
