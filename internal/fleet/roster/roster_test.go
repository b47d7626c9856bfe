package roster

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// TestAProxyIsOfferedAsItAndItsSecretAre now, and no longer than they are there.
func TestAProxyIsOfferedAsItAndItsSecretAre(t *testing.T) {
	in(t, func(w *world) {
		w.lead()
		w.put("a", with(external("a", "1"), "px"))
		if o := w.roster.ByUID("1"); o == nil || o.Why != offer.CredentialsMissing || w.refused() != 1 {
			t.Fatalf("without its Secret %+v", o)
		}
		w.keep("px", "me")
		if got := w.roster.ByUID("1").ForLease("l", time.Time{}).Username; got != "me" {
			t.Errorf("user %q", got)
		}
		l := w.granted()
		w.keep("px", "you")
		if got := w.roster.ByUID("1").ForLease("l", time.Time{}).Username; got != "you" {
			t.Errorf("after an edit of the Secret user %q", got)
		}
		if _, err := w.store.Renew(w.t.Context(), l.ID, time.Hour); err != nil {
			t.Errorf("the edit ended the lease: %v", err)
		}
		w.keep("px", "")
		if o := w.roster.ByUID("1"); o.Why != offer.CredentialsMissing {
			t.Errorf("the Secret is gone, and it is %s", o.Why)
		}
		w.put("a", nil)
		if _, err := w.store.Renew(w.t.Context(), l.ID, time.Hour); !errors.Is(err, lease.ErrProxyGone) || w.roster.ByUID("1") != nil {
			t.Errorf("deleted: %v", err)
		}
		if len(w.roster.secrets) > 0 || len(w.roster.usedBy) > 0 {
			t.Errorf("left behind: %v %v", w.roster.secrets, w.roster.usedBy)
		}
	})
}

// TestAnotherProxyOfTheSameName: leases on the first end, also where one event tells of
// both.
func TestAnotherProxyOfTheSameName(t *testing.T) {
	in(t, func(w *world) {
		w.lead()
		w.put("a", external("a", "1"))
		l := w.granted()
		w.put("a", external("a", "2"))
		if _, err := w.store.Renew(w.t.Context(), l.ID, time.Hour); !errors.Is(err, lease.ErrProxyGone) {
			t.Errorf("renewed: %v", err)
		}
		if got := w.granted().Proxy.UID; got != "2" || w.roster.ByUID("1") != nil {
			t.Errorf("granted %s", got)
		}
		for o := range w.roster.All() {
			if o.Lease.UID != "2" {
				t.Errorf("the book has %s", o.Lease.UID)
			}
		}
	})
}

// TestAStoreThatDoesNotAnswer is told once a pause, and in the end of everything.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	in(t, func(w *world) {
		w.lead()
		for i := range 50 {
			w.put(fmt.Sprint("p", i), external(fmt.Sprint("p", i), fmt.Sprint(i)))
		}
		leased := w.granted()
		w.counted()
		w.store.goes(true)
		for i := range 50 {
			if i == 7 {
				w.put("p7", nil)
				continue
			}
			p := external(fmt.Sprint("p", i), fmt.Sprint(i))
			p.Status.LatencyMillis = int64(i)
			w.put(p.Name, p)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls := w.counted(); calls["set"]+calls["remove"] > 12 {
			t.Errorf("in a minute %v", calls)
		}
		if active, err := w.roster.Drain(w.t.Context(), "3"); !errors.Is(err, lease.ErrUnavailable) || active != 0 {
			t.Errorf("a drain says %d, %v", active, err)
		}
		w.store.goes(false)
		time.Sleep(lastPause)
		synctest.Wait()
		if calls := w.counted(); calls["set"] != 48 || calls["remove"] != 1 {
			t.Errorf("told %v", calls)
		}
		if got := w.granted().Proxy.LatencyMillis; got != 1 && leased.Proxy.UID == "0" {
			t.Errorf("knows latency %d", got)
		}
	})
}

// TestASecretThatCannotBeRead is asked for with growing pauses; what does not need it goes
// on, and the leases of what does stay.
func TestASecretThatCannotBeRead(t *testing.T) {
	in(t, func(w *world) {
		w.lead()
		w.keep("px", "me")
		w.put("a", with(external("a", "1"), "px"))
		l := w.granted()
		w.resign()

		w.objects.mu.Lock()
		w.objects.unreadable = true
		w.objects.mu.Unlock()
		w.put("b", with(external("b", "2"), "other"))
		w.roster.SecretChanged(key("px"))
		w.counted()
		w.lead()
		w.put("c", external("c", "3"))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := w.counted()["secret"]; got > 2*20 {
			t.Errorf("read %d times in five minutes", got)
		}
		if err := w.roster.Serving(); err != nil {
			t.Errorf("all others wait for it: %v", err)
		}
		if w.roster.ByUID("2") != nil || w.roster.ByUID("3") == nil || w.roster.ByUID("1").ForLease("l", time.Time{}).Username != "me" {
			t.Error("what was known is not")
		}
		if _, err := w.store.Renew(w.t.Context(), l.ID, time.Hour); err != nil {
			t.Errorf("the lease ended: %v", err)
		}
		w.objects.mu.Lock()
		w.objects.unreadable = false
		w.objects.mu.Unlock()
		w.keep("other", "they")
		time.Sleep(lastPause)
		synctest.Wait()
		if o := w.roster.ByUID("2"); o == nil || o.Why != offer.Offered {
			t.Errorf("read at last: %+v", o)
		}
	})
}

// TestATermTakesOver: what went while nobody led is removed, and what is there keeps its
// leases, also while its Secret cannot be read yet.
func TestATermTakesOver(t *testing.T) {
	in(t, func(w *world) {
		for uid := range 3 {
			p := external(fmt.Sprint("p", uid), fmt.Sprint(uid))
			if err := w.store.Memory.Set(w.t.Context(), offer.Of(p, nil).Lease); err != nil {
				t.Fatal(err)
			}
		}
		leases := []lease.Lease{w.granted(), w.granted(), w.granted()}
		w.objects.mu.Lock()
		w.objects.unreadable = true
		w.objects.mu.Unlock()
		w.put("p0", external("p0", "0"))
		w.put("p1", with(external("p1", "1"), "px"))
		if err := w.roster.Serving(); err != nil {
			t.Errorf("follows: %v", err)
		}
		w.store.goes(true)
		w.lead()
		if err := w.roster.Serving(); !errors.Is(err, ErrNotTold) {
			t.Errorf("serves by a store that was not told: %v", err)
		}
		w.store.goes(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := w.roster.Serving(); err != nil {
			t.Error(err)
		}
		for _, l := range leases {
			_, err := w.store.Renew(w.t.Context(), l.ID, time.Hour)
			if gone := l.Proxy.UID == "2"; gone != errors.Is(err, lease.ErrProxyGone) || !gone && err != nil {
				t.Errorf("on proxy %s: %v", l.Proxy.UID, err)
			}
		}
	})
}

// TestNoTermTellsNothing: a process that leads no more calls the store no more.
func TestNoTermTellsNothing(t *testing.T) {
	in(t, func(w *world) {
		w.put("a", external("a", "1"))
		w.lead()
		w.resign()
		w.counted()
		w.put("b", external("b", "2"))
		w.put("a", nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if calls := w.counted(); calls["set"]+calls["remove"]+calls["retain"] > 0 {
			t.Errorf("calls %v", calls)
		}
		if _, err := w.roster.Drain(w.t.Context(), "2"); err == nil {
			t.Error("a drain by who does not lead")
		}
		if w.roster.ByUID("1") != nil || w.roster.ByUID("2") == nil {
			t.Error("the book does not follow")
		}
	})
}

// TestADrainIsKnownBeforeItIsCounted: no lease is granted after it, and what is left is
// counted.
func TestADrainIsKnownBeforeItIsCounted(t *testing.T) {
	in(t, func(w *world) {
		w.lead()
		p := external("a", "1")
		p.Spec.Capacity = nil
		w.put("a", p)
		l := w.granted()
		if n, err := w.roster.Drain(w.t.Context(), "1"); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if w.refused() != 1 {
			t.Error("granted")
		}
		w.put("a", p) // an event does not undo it
		if w.refused() != 1 {
			t.Error("granted after an event")
		}
		if err := w.store.Release(w.t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
		if n, err := w.roster.Drain(w.t.Context(), "1"); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if err := w.roster.Undrain(w.t.Context(), "1"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		w.granted()
		if _, err := w.roster.Drain(w.t.Context(), "9"); err == nil {
			t.Error("drains what nobody knows")
		}
	})
}

// TestAnEventCostsOneProxy, however many there are.
func TestAnEventCostsOneProxy(t *testing.T) {
	const n = 10_000
	in(t, func(w *world) {
		synctest.Wait()
		w.objects.mu.Lock()
		for i := range n {
			p := with(external(fmt.Sprint("p", i), fmt.Sprint(i)), "px")
			w.objects.proxies[key(p.Name)] = p
		}
		w.objects.mu.Unlock()
		w.keep("px", "me")
		w.lead()
		if calls := w.counted(); calls["set"] != n || calls["secret"] != 1 {
			t.Errorf("taking over costs %v", calls)
		}
		next := with(external("p77", "77"), "px")
		next.Status.LatencyMillis = 7
		w.put("p77", next)
		if calls := w.counted(); !maps.Equal(calls, map[string]int{"proxy": 1, "set": 1}) {
			t.Errorf("an event costs %v", calls)
		}
		w.put("p77", next)
		if calls := w.counted(); !maps.Equal(calls, map[string]int{"proxy": 1}) {
			t.Errorf("an event without news costs %v", calls)
		}
		w.roster.SecretChanged(key("nobody's"))
		synctest.Wait()
		if calls := w.counted(); len(calls) > 0 {
			t.Errorf("a Secret that nobody names costs %v", calls)
		}
	})
}

// TestVerdictsAreOfTheTerm: an engine learns the verdict from the status, and says nothing
// new of it.
func TestVerdictsAreOfTheTerm(t *testing.T) {
	in(t, func(w *world) {
		p := external("a", "1")
		w.put("a", p)
		if _, ok := w.roster.Snapshot(p); ok || !w.roster.Doubtful() {
			t.Error("a verdict without a term")
		}
		w.lead()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if v, ok := w.roster.Snapshot(p); ok && !v.Healthy {
			t.Errorf("verdict %+v", v)
		}
		l, ok := w.engine.Look("crawl/a")
		if !ok || l.InRow < 5 {
			t.Errorf("probed %+v", l)
		}
		w.put("a", nil)
		if _, ok := w.engine.Look("crawl/a"); ok {
			t.Error("is still probed")
		}
	})
}

// TestWhateverTheOrder of events, in the end the store and the book say what is there.
func TestWhateverTheOrder(t *testing.T) {
	in(t, func(w *world) {
		w.lead()
		for round := range 200 {
			name := fmt.Sprint("p", round*7%5)
			switch round * 13 % 6 {
			case 0:
				w.put(name, nil)
			case 1:
				w.store.goes(round%2 == 0)
			default:
				p := external(name, fmt.Sprint(name, "-", round/20))
				p.Status.Conditions[1].Status = []meta_v1.ConditionStatus{meta_v1.ConditionTrue, meta_v1.ConditionFalse}[round%2]
				w.put(name, p)
			}
		}
		w.store.goes(false)
		time.Sleep(lastPause)
		synctest.Wait()
		want := map[string]bool{}
		for _, p := range w.objects.proxies {
			want[string(p.UID)] = p.Status.Conditions[1].Status == meta_v1.ConditionTrue
		}
		got := map[string]bool{}
		for o := range w.roster.All() {
			got[o.Lease.UID] = o.Why == offer.Offered
		}
		if !maps.Equal(got, want) {
			t.Errorf("the book has %v, want %v", got, want)
		}
		if n := w.refusedAfterAll(len(want)); n != len(want) {
			t.Errorf("the store knows of %d, want %d", n, len(want))
		}
	})
}

// refusedAfterAll takes all leases, of one each, and says how many match.
func (w *world) refusedAfterAll(most int) int {
	for range most {
		_, _ = w.acquire()
	}
	return w.refused()
}
