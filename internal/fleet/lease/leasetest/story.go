package leasetest

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// story is what happens to a store and to its model.
type story struct {
	Rig
	*model
}

// testModel plays the same stories to a store and to the model.
func testModel(t *testing.T, open func(T) Rig, actions func(*story, T) map[string]func(*rapid.T)) {
	rapid.Check(t, func(t *rapid.T) {
		rig := open(t)
		s := &story{rig, newModel(rig.Windows)}
		all := actions(s, t)
		all[""] = s.compare
		for name, action := range all {
			all[name] = func(t *rapid.T) { s.now = s.Now(); action(t) }
		}
		t.Repeat(all)
	})
}

// mixed has everything happen to a few proxies.
func (s *story) mixed(T) map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"set": s.tell, "remove": s.drop, "acquire": s.ask, "acquire again": s.ask, "release": s.release,
		"renew": s.renew, "report": s.complain,
	}
	if s.Set {
		actions["pass"] = s.pass
	}
	if s.Reopen != nil {
		actions["reopen"] = s.reopen
	}
	return actions
}

// crowd has enough proxies for the cap on cooldowns, and most of what happens is a ban.
// Where time runs, the order of two ends is not known well enough to say whom it lets
// out: then the proxies are too few.
func (s *story) crowd(t T) map[string]func(*rapid.T) {
	n := 7
	if s.Set {
		n = 11
	}
	for i := range n {
		p := proxy(strconv.Itoa(i))
		p.Namespace, p.Name = "n"+strconv.Itoa(i%2), "p"+strconv.Itoa(i/2)
		s.set(p)
		must(t, s.Store.Set(t.Context(), p))
	}
	actions := map[string]func(*rapid.T){"acquire": s.ask, "release": s.release, "remove": s.drop}
	for i := range 9 {
		actions["ban "+strconv.Itoa(i)] = s.ban
	}
	if s.Set {
		actions["pass"] = s.pass
	}
	return actions
}

// ban is a lease whose use is a ban, and that ends.
func (s *story) ban(t *rapid.T) {
	r := lease.Request{TTL: ttl, Target: rapid.SampledFrom(targets[1:]).Draw(t, "target")}
	uid, _, refusal := s.acquire(r)
	got, err := s.Store.Acquire(t.Context(), r)
	if refusal != nil {
		if no, ok := errors.AsType[*lease.NoMatchError](err); !ok || no.InCooldown != refusal.InCooldown {
			t.Fatalf("%v, must be %v", err, refusal)
		}
		return
	}
	if want(t, err, nil); got.Proxy.UID != uid {
		t.Fatalf("granted %s, the model grants %s", got.Proxy.UID, uid)
	}
	l := &entry{Lease: got, request: r}
	s.leases = append(s.leases, l)
	must(t, s.Store.Report(t.Context(), l.ID, lease.Banned, ""))
	s.banned(l, "")
	must(t, s.Store.Release(t.Context(), l.ID))
	s.end(l)
}

// some draws the UID of one of a few.
func (s *story) some(t *rapid.T) string {
	return strconv.Itoa(rapid.IntRange(1, 6).Draw(t, "uid"))
}

func (s *story) tell(t *rapid.T) {
	p := drawProxy(t, s.some(t))
	s.set(p)
	must(t, s.Store.Set(t.Context(), p))
}

func (s *story) drop(t *rapid.T) {
	uid := s.some(t)
	s.remove(uid)
	must(t, s.Store.Remove(t.Context(), uid))
}

func (s *story) ask(t *rapid.T) {
	r := drawRequest(t, s.Set)
	if kept := s.kept(r); kept != nil {
		s.askAgain(t, r, kept)
		return
	}
	uid, rebound, refusal := s.acquire(r)
	got, err := s.Store.Acquire(t.Context(), r)
	if no, ok := errors.AsType[*lease.NoMatchError](err); ok {
		s.retry(t, r, no)
		no.RetryAfter = 0
		if diff := cmp.Diff(refusal, no); diff != "" {
			t.Fatalf("refusal of %+v (-model +store):\n%s", r, diff)
		}
		return
	}
	if err != nil || refusal != nil || got.Proxy.UID != uid || got.Rebound != rebound || got.TTL != r.TTL || got.Target != r.Target {
		t.Fatalf("%+v: %+v (%v); the model has proxy %s, rebound %v (%v)", r, got, err, uid, rebound, refusal)
	}
	s.ends(t, got, r.TTL)
	if diff := cmp.Diff(s.proxies[uid], got.Proxy); diff != "" {
		t.Fatalf("proxy (-model +store):\n%s", diff)
	}
	s.leases = append(s.leases, &entry{Lease: got, request: r})
}

// retry says that a refusal tells to come back by when a proxy suits at the latest, if
// nobody does anything, and that it does so if time alone can help.
func (s *story) retry(t *rapid.T, r lease.Request, no *lease.NoMatchError) {
	if helps := no.AtCapacity+no.InCooldown > 0; helps != (no.RetryAfter > 0) {
		t.Fatalf("retry after %v: %+v", no.RetryAfter, no)
	}
	first := s.suitsFrom(r)
	if back := s.now.Add(no.RetryAfter); s.Set && !first.IsZero() && back.After(first) {
		t.Fatalf("retry at %v, but a proxy suits from %v", back, first)
	}
}

// ends compares when a lease ends: to the millisecond, or by what went by meanwhile.
func (s *story) ends(t *rapid.T, got lease.Lease, ttl time.Duration) {
	early, late := s.now.Add(ttl-time.Millisecond), s.Now().Add(ttl+time.Millisecond)
	if got.ExpiresAt.Before(early) || got.ExpiresAt.After(late) {
		t.Fatalf("ends at %v, must between %v and %v", got.ExpiresAt, early, late)
	}
}

// askAgain is a request with a key that an active lease has.
func (s *story) askAgain(t *rapid.T, r lease.Request, kept *entry) {
	got, err := s.Store.Acquire(t.Context(), r)
	first := kept.request
	first.Exclude = r.Exclude // not what makes a request another one
	if !cmp.Equal(r, first) {
		want(t, err, lease.ErrReused)
		return
	}
	want(t, err, nil)
	if diff := cmp.Diff(kept.Lease, got); diff != "" {
		t.Fatalf("the lease of key %s (-model +store):\n%s", r.Key, diff)
	}
}

// pick is one of all leases that there ever were.
func (s *story) pick(t *rapid.T) *entry {
	if len(s.leases) == 0 {
		t.Skip("no lease yet")
	}
	return rapid.SampledFrom(s.leases).Draw(t, "lease")
}

func (s *story) release(t *rapid.T) {
	l := s.pick(t)
	s.end(l)
	must(t, s.Store.Release(t.Context(), l.ID))
}

func (s *story) renew(t *rapid.T) {
	l := s.pick(t)
	got, err := s.Store.Renew(t.Context(), l.ID, ttl)
	switch {
	case !s.known(l):
		want(t, err, lease.ErrUnknown)
	case l.gone:
		want(t, err, lease.ErrProxyGone)
	case !s.active(l):
		want(t, err, lease.ErrUnknown)
	default:
		want(t, err, nil)
		s.ends(t, got, ttl)
		l.ExpiresAt, l.TTL = got.ExpiresAt, ttl
		s.cools(t, got)
		got.CoolingUntil = time.Time{} // a grant says nothing of it
		if diff := cmp.Diff(l.Lease, got); diff != "" {
			t.Fatalf("renewed (-model +store):\n%s", diff)
		}
	}
}

// cools compares until when the proxy of a lease that was renewed rests.
func (s *story) cools(t *rapid.T, got lease.Lease) {
	var until time.Time
	for _, target := range []string{"", got.Target} {
		if p := (pair{got.Proxy.UID, target}); s.resting(p) && s.model.rests[p].until.After(until) {
			until = s.model.rests[p].until
		}
	}
	if late := s.Now().Sub(s.now); got.CoolingUntil.Sub(until).Abs() > late+time.Millisecond {
		t.Fatalf("rests until %v, must until %v", got.CoolingUntil, until)
	}
}

func (s *story) complain(t *rapid.T) {
	l, target := s.pick(t), rapid.SampledFrom(targets).Draw(t, "target")
	result := rapid.SampledFrom([]lease.Result{lease.OK, lease.RateLimited, lease.Banned}).Draw(t, "result")
	err := s.Store.Report(t.Context(), l.ID, result, target)
	if !s.known(l) {
		want(t, err, lease.ErrUnknown)
		return
	}
	want(t, err, nil)
	if result != lease.OK {
		s.banned(l, target)
	}
}

func (s *story) reopen(t *rapid.T) {
	s.Store = s.Reopen(t)
	for _, p := range s.proxies {
		must(t, s.Store.Set(t.Context(), p))
	}
}

func (s *story) pass(t *rapid.T) {
	s.Pass(time.Duration(rapid.IntRange(1, 1200).Draw(t, "seconds")) * time.Second)
}

func (s *story) compare(t *rapid.T) {
	counts, err := s.Store.Counts(t.Context())
	must(t, err)
	want := map[string]int{}
	for uid := range s.proxies {
		if n := s.load(uid, nil); n > 0 {
			want[uid] = n
		}
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Fatalf("counts (-model +store):\n%s", diff)
	}
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func want(t T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || err != nil && want == nil {
		t.Fatalf("error %v, must be %v", err, want)
	}
}
