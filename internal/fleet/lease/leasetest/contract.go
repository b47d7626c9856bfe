package leasetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// contract is what does not depend on windows, one promise a test.
var contract = []promise{
	{"Order", testOrder},
	{"Capacity", testCapacity},
	{"CapacityForOneTarget", testPerTarget},
	{"Excluded", testExcluded},
	{"FallbackOfReports", testFallback},
	{"KeyGivesTheSameLease", testKey},
	{"ReplacedProxyEndsItsLeases", testReplaced},
	{"RemovedProxyEndsItsLeases", testRemoved},
	{"NewAddressStartsClean", testAddress},
	{"SessionKeepsItsProxy", testSession},
	{"ExpiryByClockAlone", testExpiry},
	{"IdempotentRelease", testRelease},
	{"ParallelCapacity", testParallel},
	{"ParallelKey", testParallelKey},
}

// limits are the promises of RunLimits.
var limits = []promise{
	{"CapOnCooldowns", testCap},
	{"NoCapOnFew", testNoCap},
	{"ManyTargets", testManyTargets},
}

// proxy is one that takes any number of leases.
func proxy(uid string) lease.Proxy {
	return lease.Proxy{
		UID: uid, Namespace: "crawl", Name: "p" + uid, Instance: "i" + uid, Address: "192.0.2." + uid,
		Attributes: map[string]string{"country": "de"}, Healthy: true,
	}
}

// single is one that takes one lease at a time.
func single(uid string) lease.Proxy {
	p := proxy(uid)
	p.Capacity = 1
	return p
}

func (r Rig) tell(t T, proxies ...lease.Proxy) {
	t.Helper()
	for _, p := range proxies {
		must(t, r.Store.Set(t.Context(), p))
	}
}

// take asks for a lease that there is.
func (r Rig) take(t T, q lease.Request) lease.Lease {
	t.Helper()
	if q.TTL == 0 {
		q.TTL = ttl
	}
	got, err := r.Store.Acquire(t.Context(), q)
	must(t, err)
	return got
}

// refused asks for a lease that there is not, and returns the numbers of the refusal.
func (r Rig) refused(t T, q lease.Request) lease.NoMatchError {
	t.Helper()
	q.TTL = ttl
	got, err := r.Store.Acquire(t.Context(), q)
	no, ok := errors.AsType[*lease.NoMatchError](err)
	if !ok {
		t.Fatalf("granted %s (%v), must be refused", got.Proxy.Name, err)
	}
	numbers := *no
	numbers.RetryAfter = 0
	return numbers
}

func (r Rig) report(t T, l lease.Lease, result lease.Result, target string) {
	t.Helper()
	must(t, r.Store.Report(t.Context(), l.ID, result, target))
}

// rests are the targets for which a proxy rests.
func (r Rig) rests(t T, uid string) (targets []string) {
	t.Helper()
	use, err := r.Store.Use(t.Context(), uid)
	must(t, err)
	for _, c := range use.Cooldowns {
		targets = append(targets, c.Target)
	}
	slices.Sort(targets)
	return targets
}

func testOrder(t *testing.T, r Rig) {
	slow, quick, other := proxy("1"), proxy("2"), proxy("3")
	slow.LatencyMillis, other.Namespace = 9, "aaa"
	r.tell(t, slow, quick, other)
	var got []string
	for range 6 {
		got = append(got, r.take(t, lease.Request{}).Proxy.Name)
	}
	if want := []string{"p3", "p2", "p1", "p3", "p2", "p1"}; !slices.Equal(got, want) {
		t.Errorf("granted in order %v, must %v: fewest leases, latency, namespace, name", got, want)
	}
}

func testCapacity(t *testing.T, r Rig) {
	p := proxy("1")
	p.Capacity = 2
	sick := proxy("2")
	sick.Healthy = false
	r.tell(t, p, sick)
	held := r.take(t, lease.Request{})
	r.take(t, lease.Request{Target: "a.example"})
	if got, want := r.refused(t, lease.Request{}), (lease.NoMatchError{Considered: 2, Unhealthy: 1, AtCapacity: 1}); got != want {
		t.Errorf("%+v, must %+v", got, want)
	}
	must(t, r.Store.Release(t.Context(), held.ID))
	r.take(t, lease.Request{})
}

func testPerTarget(t *testing.T, r Rig) {
	p := proxy("1")
	p.PerTarget = 1
	r.tell(t, p)
	r.take(t, lease.Request{Target: "a.example"})
	r.take(t, lease.Request{Target: "b.example"})
	if got := r.refused(t, lease.Request{Target: "a.example"}); got.AtCapacity != 1 {
		t.Errorf("%+v, must be at capacity for the target", got)
	}
}

func testExcluded(t *testing.T, r Rig) {
	r.tell(t, proxy("1"), proxy("2"))
	if got := r.take(t, lease.Request{Exclude: []string{"crawl/p1", "crawl/none"}}); got.Proxy.Name != "p2" {
		t.Errorf("granted %s, which is excluded", got.Proxy.Name)
	}
	if got := r.refused(t, lease.Request{Exclude: []string{"crawl/p1", "crawl/p2", "crawl/p1"}}); got.Considered != 0 {
		t.Errorf("%+v, must consider nobody", got)
	}
}

// testFallback: a report is about its target, or else the lease's, or else all; one that
// is ok shortens nothing.
func testFallback(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	plain, aimed := r.take(t, lease.Request{}), r.take(t, lease.Request{Target: "lease.example"})
	for _, l := range []lease.Lease{aimed, plain} {
		r.report(t, l, lease.RateLimited, "report.example")
		r.report(t, l, lease.Banned, "")
	}
	want := []string{"", "lease.example", "report.example"}
	if got := r.rests(t, "1"); !slices.Equal(got, want) {
		t.Errorf("rests for %q, must for %q", got, want)
	}
	r.report(t, plain, lease.OK, "")
	if got := r.rests(t, "1"); !slices.Equal(got, want) {
		t.Errorf("rests for %q after ok, must for %q", got, want)
	}
	if got := r.refused(t, lease.Request{Target: "another.example"}); got.InCooldown != 1 {
		t.Errorf("%+v, must rest for every target", got)
	}
}

// testKey: a key gives the same lease as long as that lives, renewed or not, and a new
// one afterwards.
func testKey(t *testing.T, r Rig) {
	r.tell(t, proxy("1"), proxy("2"))
	q := lease.Request{Key: "k", Body: "b", Session: "s", TTL: ttl}
	held := r.take(t, q)
	_, err := r.Store.Renew(t.Context(), held.ID, 2*ttl)
	must(t, err)
	q.Exclude = []string{"crawl/p1"}
	if again := r.take(t, q); again.ID != held.ID || !again.ExpiresAt.After(held.ExpiresAt) {
		t.Errorf("got %+v, must be the lease of %+v, renewed", again, held)
	}
	for _, other := range []lease.Request{
		{Key: "k", Body: "c", Session: "s", TTL: ttl},
		{Key: "k", Body: "b", TTL: ttl},
		{Key: "k", Body: "b", Session: "s", TTL: 2 * ttl},
		{Key: "k", Body: "b", Session: "s", TTL: ttl, Target: "t"},
		{Key: "k", Body: "b", Session: "s", TTL: ttl, Selector: lease.Selector{Namespace: "crawl"}},
	} {
		_, err := r.Store.Acquire(t.Context(), other)
		want(t, err, lease.ErrReused)
	}
	must(t, r.Store.Release(t.Context(), held.ID))
	next := r.take(t, lease.Request{Key: "k", Body: "another"})
	if next.ID == held.ID {
		t.Errorf("the key gives lease %s, which has ended", held.ID)
	}
	must(t, r.Store.Release(t.Context(), held.ID)) // which is not the key's any more
	if again := r.take(t, lease.Request{Key: "k", Body: "another"}); again.ID != next.ID {
		t.Errorf("got lease %s, must be %s", again.ID, next.ID)
	}
}

func testReplaced(t *testing.T, r Rig) {
	p := single("1")
	r.tell(t, p)
	held := r.take(t, lease.Request{Key: "k"})
	p.LatencyMillis = 7
	r.tell(t, p, p)
	_, err := r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, nil)
	p.Instance = "another"
	r.tell(t, p)
	_, err = r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, lease.ErrProxyGone)
	if next := r.take(t, lease.Request{Key: "k"}); next.ID == held.ID { // its place is free
		t.Errorf("the key gives lease %s, whose proxy was replaced", held.ID)
	}
	r.report(t, held, lease.Banned, "") // from the address that it still has
	if got := r.rests(t, "1"); len(got) != 1 {
		t.Errorf("rests for %q, must for every target", got)
	}
}

func testRemoved(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	held := r.take(t, lease.Request{})
	must(t, r.Store.Remove(t.Context(), "1"))
	must(t, r.Store.Remove(t.Context(), "never told"))
	_, err := r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, lease.ErrProxyGone)
	r.report(t, held, lease.Banned, "")
	if got := r.refused(t, lease.Request{}); got.Considered != 0 {
		t.Errorf("%+v, must consider nobody", got)
	}
	r.tell(t, proxy("1"))
	r.take(t, lease.Request{}) // it rests no more
}

// testAddress: cooldowns belong to an address, and so do reports about it.
func testAddress(t *testing.T, r Rig) {
	p := proxy("1")
	r.tell(t, p)
	held := r.take(t, lease.Request{})
	r.report(t, held, lease.Banned, "")
	p.Address = "198.51.100.1"
	r.tell(t, p)
	r.report(t, held, lease.Banned, "")
	if got := r.rests(t, "1"); len(got) != 0 {
		t.Errorf("rests for %q, must not: its address is new", got)
	}
	_, err := r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, nil) // the instance is not
}

func testSession(t *testing.T, r Rig) {
	r.tell(t, proxy("1"), proxy("2"))
	q := lease.Request{Session: "s", Target: "a.example"}
	first := r.take(t, q)
	second := r.take(t, q)
	if second.Proxy.UID != first.Proxy.UID || second.Rebound || first.Rebound {
		t.Errorf("got %+v after %+v, must be on the same proxy", second, first)
	}
	must(t, r.Store.Release(t.Context(), first.ID))
	r.report(t, second, lease.Banned, "")
	third := r.take(t, q)
	if third.Proxy.UID == first.Proxy.UID || !third.Rebound {
		t.Errorf("got %+v, must be on another proxy: the session's rests", third)
	}
	if fourth := r.take(t, q); fourth.Proxy.UID != third.Proxy.UID || fourth.Rebound {
		t.Errorf("got %+v, must be on the proxy of %+v", fourth, third)
	}
	elsewhere := lease.Request{Session: "s", Selector: lease.Selector{Namespace: "crawl"}}
	if got := r.take(t, elsewhere); got.Rebound {
		t.Errorf("got %+v: the session of another selector is another", got)
	}
}

func testExpiry(t *testing.T, r Rig) {
	r.tell(t, single("1"))
	held := r.take(t, lease.Request{TTL: lease.MinTTL, Key: "k"})
	r.Pass(held.ExpiresAt.Sub(r.Now()) + 2*time.Millisecond)
	next := r.take(t, lease.Request{Key: "k"})
	_, err := r.Store.Renew(t.Context(), held.ID, ttl)
	want(t, err, lease.ErrUnknown)
	must(t, r.Store.Release(t.Context(), held.ID))
	if got := r.refused(t, lease.Request{}); got.AtCapacity != 1 {
		t.Errorf("%+v, must be at capacity", got)
	}
	if next.Fence <= held.Fence || next.ID == held.ID || len(next.ID) < 1 {
		t.Errorf("lease %s of fence %d after %s of %d: they must be new, and fences grow", next.ID, next.Fence, held.ID, held.Fence)
	}
}

// testCap: of the proxies that a lease's selector matches, eight or more, at most three
// quarters rest for a target; those whose rest ends first are let out.
func testCap(t *testing.T, r Rig) {
	for i := range 8 {
		p := single(strconv.Itoa(i))
		p.Attributes = map[string]string{"pool": "eight"}
		other := proxy("x" + strconv.Itoa(i))
		r.tell(t, p, other)
	}
	var held []lease.Lease
	for range 8 {
		held = append(held, r.take(t, lease.Request{Selector: lease.Selector{Attributes: map[string]string{"pool": "eight"}}}))
	}
	for i, l := range held {
		r.report(t, l, lease.Banned, "a.example")
		r.Pass(5 * time.Millisecond)
		var resting []int
		for j, l := range held {
			if len(r.rests(t, l.Proxy.UID)) > 0 {
				resting = append(resting, j)
			}
		}
		var want []int
		for j := max(0, i-5); j <= i; j++ {
			want = append(want, j)
		}
		if !slices.Equal(resting, want) {
			t.Fatalf("after ban %d rest %v, must %v", i, resting, want)
		}
	}
}

func testNoCap(t *testing.T, r Rig) {
	for i := range 7 {
		r.tell(t, single(strconv.Itoa(i)))
	}
	for range 7 {
		r.report(t, r.take(t, lease.Request{Target: "a.example"}), lease.Banned, "")
	}
	for i := range 7 {
		if got := r.rests(t, strconv.Itoa(i)); len(got) != 1 {
			t.Errorf("proxy %d rests for %q, must for a.example", i, got)
		}
	}
}

// testManyTargets: a proxy rests for a bounded number of targets.
func testManyTargets(t *testing.T, r Rig) {
	r.tell(t, proxy("1"))
	held := r.take(t, lease.Request{})
	for i := range lease.MaxTargets + 1 {
		r.report(t, held, lease.Banned, fmt.Sprintf("t%d.example", i))
		if i == 0 {
			r.Pass(5 * time.Millisecond)
		}
	}
	got := r.rests(t, "1")
	if len(got) != lease.MaxTargets || slices.Contains(got, "t0.example") {
		t.Errorf("rests for %d targets, must for %d, not for the first", len(got), lease.MaxTargets)
	}
}

func testRelease(t *testing.T, r Rig) {
	r.tell(t, single("1"))
	held := r.take(t, lease.Request{})
	must(t, r.Store.Release(t.Context(), held.ID))
	must(t, r.Store.Release(t.Context(), "never granted"))
	r.take(t, lease.Request{})
	must(t, r.Store.Release(t.Context(), held.ID))
	if got := r.refused(t, lease.Request{}); got.AtCapacity != 1 {
		t.Errorf("%+v: releasing one lease twice must not end another", got)
	}
}
