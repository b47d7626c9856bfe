package lease_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// small is a store that may hold few leases, of a proxy that takes any number, at a time
// that the test sets.
func small(t *testing.T, most int) (store *lease.Memory, now *time.Time) {
	t.Helper()
	now = new(time.Unix(1_800_000_000, 0))
	store = lease.NewMemory(lease.Options{Now: func() time.Time { return *now }, Most: most})
	if err := store.Set(t.Context(), lease.Proxy{UID: "1", Namespace: "n", Name: "p", Healthy: true}); err != nil {
		t.Fatal(err)
	}
	return store, now
}

func acquire(t *testing.T, store lease.Store, r lease.Request) lease.Lease {
	t.Helper()
	if r.TTL == 0 {
		r.TTL = time.Minute
	}
	l, err := store.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestMostActive: a store that is full refuses as if the proxies were, until one of its
// leases ends, whichever it is.
func TestMostActive(t *testing.T) {
	store, now := small(t, 3)
	held := acquire(t, store, lease.Request{TTL: 10 * time.Second})
	acquire(t, store, lease.Request{Key: "k"})
	acquire(t, store, lease.Request{})
	acquire(t, store, lease.Request{Key: "k"}) // which is there
	_, err := store.Acquire(t.Context(), lease.Request{TTL: time.Minute})
	no, ok := errors.AsType[*lease.NoMatchError](err)
	if !ok || no.AtCapacity != 1 || no.RetryAfter != 10*time.Second {
		t.Fatalf("error %v", err)
	}
	*now = held.ExpiresAt
	acquire(t, store, lease.Request{})
}

// TestMostEnded: of the leases that ended the first are forgotten when there are too many.
func TestMostEnded(t *testing.T) {
	store, _ := small(t, 100)
	var all []lease.Lease
	for i := range 1000 {
		l := acquire(t, store, lease.Request{Session: strconv.Itoa(i), Key: strconv.Itoa(i)})
		all = append(all, l)
		if err := store.Release(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
	acquire(t, store, lease.Request{})
	for i, l := range all {
		err := store.Report(t.Context(), l.ID, lease.OK, "")
		if known := i >= 900; known != (err == nil) {
			t.Fatalf("lease %d of 1000, of which 100 are known: %v", i, err)
		}
	}
	if n := len(store.State().Leases); n != 101 {
		t.Errorf("%d leases are kept, must be 101", n)
	}
}

// TestManySelectors: selectors that nobody asks for again, and those that match nobody,
// are not what those wait for who ask for the same.
func TestManySelectors(t *testing.T) {
	store, _ := small(t, 0)
	many := map[string]string{}
	for i := range 300 {
		many["k"+strconv.Itoa(i)] = "v"
	}
	if err := store.Set(t.Context(), lease.Proxy{UID: "1", Namespace: "n", Name: "p", Attributes: many, Healthy: true}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for key, value := range many {
			acquire(t, store, lease.Request{Selector: lease.Selector{Attributes: map[string]string{key: value}}})
			_, err := store.Acquire(t.Context(), lease.Request{TTL: time.Minute, Selector: lease.Selector{Attributes: map[string]string{key: "none"}}})
			if no, ok := errors.AsType[*lease.NoMatchError](err); !ok || no.Considered != 0 || no.RetryAfter != 0 {
				t.Fatalf("error %v", err)
			}
		}
	}
	if err := store.Remove(t.Context(), "1"); err != nil { // from all indexes
		t.Fatal(err)
	}
	if _, err := store.Acquire(t.Context(), lease.Request{TTL: time.Minute}); err == nil {
		t.Error("a proxy that was removed is granted")
	}
}

// group is a store with proxies that take any number of leases, which became healthy a
// minute before now.
func group(t *testing.T, policy lease.Policy, n int) (store *lease.Memory, now *time.Time) {
	t.Helper()
	now = new(time.Unix(1_800_000_000, 0))
	store = lease.NewMemory(lease.Options{Now: func() time.Time { return *now }, Policy: policy})
	for i := range n {
		join(t, store, i)
	}
	*now = now.Add(lease.Start)
	return store, now
}

func join(t *testing.T, store *lease.Memory, i int) {
	t.Helper()
	p := lease.Proxy{UID: strconv.Itoa(i), Namespace: "n", Name: fmt.Sprint("p", i), Instance: "i", Healthy: true}
	if err := store.Set(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, store *lease.Memory, uid string) int {
	t.Helper()
	use, err := store.Use(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	return use.Active
}

// TestSlowStart: a proxy that is new takes no more than its age's share of the average,
// and one, where least-leases would give it everything.
func TestSlowStart(t *testing.T) {
	for policy, want := range map[lease.Policy][2]int{lease.LeastLeases: {20, 20}, lease.SlowStart: {1, 6}} {
		store, now := group(t, policy, 4)
		for range 80 {
			acquire(t, store, lease.Request{TTL: time.Hour})
		}
		join(t, store, 9)
		for range 20 {
			acquire(t, store, lease.Request{TTL: time.Hour})
		}
		young := load(t, store, "9")
		*now = now.Add(15 * time.Second) // a quarter of 20 to 24, and one
		for range 20 {
			acquire(t, store, lease.Request{TTL: time.Hour})
		}
		if older := load(t, store, "9"); young != want[0] || older < want[1] || policy == lease.SlowStart && older > want[1] {
			t.Errorf("%s: the new one has %d leases, %d after a quarter of the time; must have %v", policy, young, older, want)
		}
	}
}

// TestSlowStartAlone: where nobody else suits, or all are as new, the new ones are
// granted all the same.
func TestSlowStartAlone(t *testing.T) {
	store, _ := group(t, lease.SlowStart, 0)
	join(t, store, 1)
	for range 10 {
		acquire(t, store, lease.Request{})
	}
	join(t, store, 2)
	for range 10 {
		acquire(t, store, lease.Request{Exclude: []string{"n/p1"}})
	}
}

// TestSlowStartSurvives: a restart makes nobody new, and what is new no older.
func TestSlowStartSurvives(t *testing.T) {
	store, now := group(t, lease.SlowStart, 4)
	join(t, store, 9)
	next := lease.NewMemory(lease.Options{Now: store.Now, Policy: lease.SlowStart})
	if err := next.Restore(store.State()); err != nil {
		t.Fatal(err)
	}
	*now = now.Add(time.Second)
	for _, i := range []int{0, 1, 2, 3, 9} {
		join(t, next, i)
	}
	for range 100 {
		acquire(t, next, lease.Request{})
	}
	if young := load(t, next, "9"); young != 1 || load(t, next, "3") < 24 {
		t.Errorf("the new one has %d leases, an old one %d", young, load(t, next, "3"))
	}
}

// TestBestOfTwo: of two that suit the fitter is granted; of several, all but the least
// fit, which is the fitter of no two.
func TestBestOfTwo(t *testing.T) {
	store, _ := group(t, lease.BestOfTwo, 4)
	slow := lease.Proxy{UID: "slow", Namespace: "n", Name: "slow", LatencyMillis: 9, Healthy: true}
	sick := lease.Proxy{UID: "sick", Namespace: "n", Name: "sick"}
	for _, p := range []lease.Proxy{slow, sick} {
		if err := store.Set(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for range 500 {
		l := acquire(t, store, lease.Request{})
		got[l.Proxy.UID]++
		if err := store.Release(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 4 || got["slow"] != 0 || got["sick"] != 0 || got["0"] < got["3"] {
		t.Errorf("granted %v, must be the four quick ones, the first by name more often", got)
	}
	only := acquire(t, store, lease.Request{Exclude: []string{"n/p0", "n/p1", "n/p2", "n/p3"}})
	if only.Proxy.UID != "slow" {
		t.Errorf("granted %s, must be the only one that suits", only.Proxy.UID)
	}
}

// retryAfter is that of a refusal.
func retryAfter(t *testing.T, store *lease.Memory, r lease.Request) time.Duration {
	t.Helper()
	r.TTL = time.Minute
	_, err := store.Acquire(t.Context(), r)
	no, ok := errors.AsType[*lease.NoMatchError](err)
	if !ok {
		t.Fatalf("error %v, must be refused", err)
	}
	return no.RetryAfter
}

// TestRetryOfOtherPools: who is refused is told of the first end, also of a lease that
// came to those that its selector matches with its proxy, or that only fills the store.
func TestRetryOfOtherPools(t *testing.T) {
	store, _ := small(t, 3)
	tell := func(uid, country string) {
		p := lease.Proxy{UID: uid, Namespace: "n", Name: uid, Attributes: map[string]string{"country": country}, Healthy: true, Capacity: 1}
		if err := store.Set(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	in := func(country string) lease.Request {
		return lease.Request{Selector: lease.Selector{Attributes: map[string]string{"country": country}}}
	}
	tell("2", "de")
	tell("3", "fr")
	later, sooner := in("de"), in("fr")
	later.TTL, sooner.TTL = 20*time.Second, 10*time.Second
	acquire(t, store, later)
	acquire(t, store, sooner)
	if after := retryAfter(t, store, in("de")); after != later.TTL {
		t.Errorf("retry after %v, must %v", after, later.TTL)
	}
	tell("3", "de")
	if after := retryAfter(t, store, in("de")); after != sooner.TTL {
		t.Errorf("retry after %v, must %v", after, sooner.TTL)
	}
	acquire(t, store, lease.Request{})
	tell("4", "it")
	if after := retryAfter(t, store, in("it")); after != sooner.TTL {
		t.Errorf("retry after %v of a store that is full, must %v", after, sooner.TTL)
	}
}

// TestSessionSurvives: after a restart a session is where it was last, whatever other
// leases it had.
func TestSessionSurvives(t *testing.T) {
	store, _ := group(t, lease.LeastLeases, 2)
	q := lease.Request{Session: "s"}
	first := acquire(t, store, q)
	if err := store.Report(t.Context(), first.ID, lease.Banned, "a.example"); err != nil {
		t.Fatal(err)
	}
	last := acquire(t, store, lease.Request{Session: "s", Target: "a.example"})
	if err := store.Release(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	next := lease.NewMemory(lease.Options{Now: store.Now})
	if err := next.Restore(store.State()); err != nil {
		t.Fatal(err)
	}
	join(t, next, 0)
	join(t, next, 1)
	if got := acquire(t, next, q); got.Proxy.UID != last.Proxy.UID || got.Rebound || got.Fence != last.Fence+1 {
		t.Errorf("got %+v, must be on proxy %s with fence %d", got, last.Proxy.UID, last.Fence+1)
	}
}
