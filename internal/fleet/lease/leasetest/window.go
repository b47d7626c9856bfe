package leasetest

import (
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// windows are what ends by windows, one promise a test.
var windows = []promise{
	{"LateReports", testLate},
	{"CooldownEnds", testCooldown},
	{"CooldownGrows", testGrows},
	{"OneBanReportedOften", testBurst},
	{"SessionIsForgotten", testForgotten},
}

// testLate: a lease that ended can be reported about for a while, which nothing prolongs.
func testLate(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	held, short := r.take(t, lease.Request{}), r.take(t, lease.Request{TTL: lease.MinTTL})
	must(t, r.Store.Release(t.Context(), held.ID))
	r.report(t, held, lease.OK, "")
	r.Pass(short.ExpiresAt.Sub(r.Now()) + 2*time.Millisecond)
	r.report(t, short, lease.OK, "")
	r.Pass(r.Windows.Cooldown + 2*time.Millisecond)
	for _, l := range []lease.Lease{held, short} {
		want(t, r.Store.Report(t.Context(), l.ID, lease.Banned, ""), lease.ErrUnknown)
	}
	want(t, r.Store.Report(t.Context(), "never granted", lease.Banned, ""), lease.ErrUnknown)
}

func testCooldown(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	held := r.take(t, lease.Request{Target: "a.example"})
	before := r.Now()
	r.report(t, held, lease.Banned, "")
	r.lasts(t, before, r.Windows.Cooldown)
	r.take(t, lease.Request{Target: "b.example"})
	if got := r.refused(t, lease.Request{Target: "a.example"}); got.InCooldown != 1 {
		t.Errorf("%+v, must rest", got)
	}
	r.Pass(r.Windows.Cooldown + 2*time.Millisecond)
	r.take(t, lease.Request{Target: "a.example"})
}

// lasts says that the only cooldown of the only proxy began between a time and now, and
// lasts so long.
func (r Rig) lasts(t *testing.T, from time.Time, long time.Duration) {
	t.Helper()
	use, err := r.Store.Use(t.Context(), "1")
	must(t, err)
	early, late := from.Add(long-time.Millisecond), r.Now().Add(long+time.Millisecond)
	if len(use.Cooldowns) != 1 || use.Cooldowns[0].Until.Before(early) || use.Cooldowns[0].Until.After(late) {
		t.Fatalf("cooldowns %+v, must be one until between %v and %v", use.Cooldowns, early, late)
	}
}

// testGrows: a ban soon after a rest is answered with twice as long a rest, up to a
// limit; long after it the count begins anew.
func testGrows(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	held := r.take(t, lease.Request{})
	const target = "a.example"
	for long := r.Windows.Cooldown; ; long = min(2*long, r.Windows.Max) {
		before := r.Now()
		r.report(t, held, lease.Banned, target)
		r.lasts(t, before, long)
		r.Pass(r.Windows.Burst + 50*time.Millisecond)
		if long == r.Windows.Max {
			break
		}
	}
	r.Pass(2*r.Windows.Max + 50*time.Millisecond)
	before := r.Now()
	r.report(t, r.take(t, lease.Request{}), lease.Banned, target)
	r.lasts(t, before, r.Windows.Cooldown)
}

// testBurst: reports of requests that were under way are of the same ban.
func testBurst(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	held := r.take(t, lease.Request{})
	before := r.Now()
	for range 5 {
		r.report(t, held, lease.Banned, "")
	}
	if r.Now().Sub(before) < r.Windows.Burst { // else they are of several, on a slow machine
		r.lasts(t, before, r.Windows.Cooldown)
	}
}

// testForgotten: a session is kept for as long as its last lease can be reported about.
func testForgotten(t *testing.T, r Rig) {
	r.tell(t, proxy("1"), proxy("2"))
	q := lease.Request{Session: "s"}
	first := r.take(t, q)
	must(t, r.Store.Release(t.Context(), first.ID))
	busy := r.take(t, lease.Request{TTL: lease.MaxTTL}) // so that the order would choose another
	if got := r.take(t, q); got.Proxy.UID != first.Proxy.UID || busy.Proxy.UID != first.Proxy.UID {
		t.Fatalf("the session got %s, must %s", got.Proxy.UID, first.Proxy.UID)
	} else {
		must(t, r.Store.Release(t.Context(), got.ID))
	}
	r.Pass(r.Windows.Cooldown + 2*time.Millisecond)
	if got := r.take(t, q); got.Proxy.UID == first.Proxy.UID || got.Rebound {
		t.Errorf("got %+v, must be as without a session", got)
	}
}
