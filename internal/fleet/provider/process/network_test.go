package process

import (
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// TestFleetsAtOnce: fleets that begin at the same moment, in a pool that has room for
// just as many, do not take each other's addresses.
func TestFleetsAtOnce(t *testing.T) {
	if !alone(t) {
		return
	}
	pool := &Network{Pool: netip.MustParsePrefix("10.20.0.0/21")}
	fleets := make([]*Provider, 2)
	for i := range fleets {
		fleets[i] = newWorld(t, pool).Open(t, "ours").(*Provider)
	}
	var creates sync.WaitGroup
	for _, p := range fleets {
		creates.Go(func() {
			eventually(t, "it is accepted", func() bool { // one of them may have to wait for the other
				_, err := p.Create(t.Context(), request("ours", uid))
				return err == nil
			})
		})
	}
	creates.Wait()
	first, second := bridgeOf(t, fleets[0]), bridgeOf(t, fleets[1])
	if first.Prefix.Overlaps(second.Prefix) || first.Name == second.Name {
		t.Errorf("two fleets have %+v and %+v", first, second)
	}
	for _, p := range fleets {
		if got := runs(t, p); !bridgeOf(t, p).Prefix.Contains(got.IP) {
			t.Errorf("%s is not of %s", got.IP, bridgeOf(t, p).Prefix)
		}
	}
	third := newWorld(t, pool).Open(t, "ours").(*Provider)
	if _, err := third.Create(t.Context(), request("ours", uid)); provider.ClassName(err) != "QuotaExceeded" || !strings.Contains(err.Error(), "choose another --process-pool") {
		t.Errorf("a third fleet in a pool for two: %v, want that it waits for one to go", err)
	}
	for _, p := range fleets {
		ends(t, p)
	}
	if _, err := third.Create(t.Context(), request("ours", uid)); err != nil {
		t.Errorf("a third fleet after the others: %v", err)
	}
	ends(t, third)
	clean(t, third.options.Dir)
}

func bridgeOf(t *testing.T, p *Provider) bridge {
	t.Helper()
	b, err := p.readBridge()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPools: a fleet takes a part of a large pool and all of a small one.
func TestPools(t *testing.T) {
	for _, c := range []struct{ pool, want string }{{"100.64.0.0/10", "/22"}, {"10.0.0.0/22", "/22"}, {"198.51.100.8/29", "/29"}} {
		pool := netip.MustParsePrefix(c.pool)
		got := within(pool)
		if !pool.Overlaps(got) || got != got.Masked() || got.String()[len(got.String())-3:] != c.want {
			t.Errorf("of %s a fleet takes %s, want a %s", pool, got, c.want)
		}
	}
}
