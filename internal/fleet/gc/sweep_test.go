package gc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

// world is a store and a provider that do as they are told, and note what they were asked.
type world struct {
	provider.Provider // has no other methods

	cached, live []*egress_v1alpha1.Proxy
	instances    []provider.Instance
	errs         map[string][]error // by method, in order
	mu           sync.Mutex         // of asked, while a sweeper runs by itself
	asked        []string
	counted      []string
}

func (w *world) call(method, what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, strings.TrimSpace(method+" "+what))
	if left := w.errs[method]; len(left) > 0 {
		w.errs[method] = left[1:]
		return left[0]
	}
	return nil
}

func (w *world) Proxies(context.Context) ([]*egress_v1alpha1.Proxy, error) {
	return w.cached, w.call("Proxies", "")
}

func (w *world) CurrentProxies(context.Context) ([]*egress_v1alpha1.Proxy, error) {
	return w.live, w.call("CurrentProxies", "")
}

func (w *world) Current(_ context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error) {
	if err := w.call("Current", key.Name); err != nil {
		return nil, err
	}
	for _, p := range w.live {
		if keyOf(p) == key {
			return p, nil
		}
	}
	return nil, reconcile.ErrNoObject
}

func (w *world) ListByTag(_ context.Context, cluster string) ([]provider.Instance, error) {
	return w.instances, w.call("ListByTag", cluster)
}

func (w *world) Delete(_ context.Context, id string) error {
	if err := w.call("Delete", id); err != nil {
		return err
	}
	w.instances = slices.DeleteFunc(slices.Clone(w.instances), func(i provider.Instance) bool { return i.ID == id })
	return nil
}

func (w *world) SweepEnded(outcome string) { w.counted = append(w.counted, outcome) }
func (w *world) SweepRefused(cause string) { w.counted = append(w.counted, "refused: "+cause) }
func (w *world) InstanceSwept(who, verdict, outcome string) {
	w.counted = append(w.counted, who+" "+verdict+" "+outcome)
}

func (w *world) deleted() (ids []string) {
	for _, a := range w.asked {
		if id, ok := strings.CutPrefix(a, "Delete "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *world) expect(t *testing.T, asked, counted string) {
	t.Helper()
	if got := strings.Join(w.asked, ", "); got != asked {
		t.Errorf("asked for %s\nwant      %s", got, asked)
	}
	if got := strings.Join(w.counted, ", "); got != counted {
		t.Errorf("counted %s\nwant    %s", got, counted)
	}
}

// sweeper has one provider, and instances that it has known for long.
func sweeper(t *testing.T, w *world) *Sweeper {
	t.Helper()
	s := &Sweeper{
		Rules: rules, Objects: w, Providers: map[string]provider.Provider{"gcp": w}, Interval: 10 * time.Minute,
		Now: func() time.Time { return noon }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Recorder: w,
	}
	s.memory = memory{}
	s.memory.see(list{provider: "gcp", instances: w.instances}, noon.Add(-rules.MinAge))
	return s
}

func instances(uids ...string) (all []provider.Instance) {
	for _, uid := range uids {
		i := sighting(uid, "i-"+uid).Instance
		i.CreatedAt = noon
		all = append(all, i)
	}
	return all
}

func TestOrphanIsDeletedAfterALastLook(t *testing.T) {
	w := &world{instances: instances("u1", "u2"), cached: []*egress_v1alpha1.Proxy{proxy("u2", "i-u2")}}
	w.live = w.cached
	sweeper(t, w).Sweep(t.Context())
	w.expect(t, "ListByTag ours, Proxies, CurrentProxies, Delete i-u1", "gcp orphan deleted, complete")
}

func TestOwnedInstancesNeedNoLastLook(t *testing.T) {
	w := &world{instances: instances("u1"), cached: []*egress_v1alpha1.Proxy{proxy("u1", "i-u1")}}
	sweeper(t, w).Sweep(t.Context())
	w.expect(t, "ListByTag ours, Proxies", "complete")
}

func TestOrphanOfAStaleCacheIsSpared(t *testing.T) {
	w := &world{instances: instances("u1"), live: []*egress_v1alpha1.Proxy{proxy("u1", "i-u1")}}
	sweeper(t, w).Sweep(t.Context())
	w.expect(t, "ListByTag ours, Proxies, CurrentProxies", "gcp orphan spared, complete")
}

func TestDuplicateIsJudgedByTheProxyAsItIsNow(t *testing.T) {
	for name, c := range map[string]struct {
		live    []*egress_v1alpha1.Proxy
		deleted bool
	}{
		"still another":       {[]*egress_v1alpha1.Proxy{proxy("u1", "i-other")}, true},
		"adopted meanwhile":   {[]*egress_v1alpha1.Proxy{proxy("u1", "i-u1")}, false},
		"names none any more": {[]*egress_v1alpha1.Proxy{proxy("u1", "")}, false},
		"gone meanwhile":      {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{instances: instances("u1"), cached: []*egress_v1alpha1.Proxy{proxy("u1", "i-other")}, live: c.live}
			sweeper(t, w).Sweep(t.Context())
			if got := w.deleted(); (len(got) == 1) != c.deleted {
				t.Errorf("deleted %v", got)
			}
			if !slices.Contains(w.asked, "Current px-u1") {
				t.Errorf("no last look: %v", w.asked)
			}
		})
	}
}

func TestProxiesThatCannotBeReadSpareEverything(t *testing.T) {
	down := errors.New("connection refused")
	for _, method := range []string{"Proxies", "CurrentProxies", "Current"} {
		t.Run(method, func(t *testing.T) {
			w := &world{
				instances: instances("u1", "u2"), errs: map[string][]error{method: {down}},
				cached: []*egress_v1alpha1.Proxy{proxy("u1", "i-other")},
			}
			w.instances[1].CreatedAt = noon.Add(time.Second) // so that the duplicate goes first
			sweeper(t, w).Sweep(t.Context())
			if w.deleted() != nil || !slices.Equal(w.counted, []string{"refused: objects"}) {
				t.Errorf("deleted %v, counted %v", w.deleted(), w.counted)
			}
		})
	}
}

// TestPartialListDeletesWhatItShows, and forgets nothing of what it lacks.
func TestPartialListDeletesWhatItShows(t *testing.T) {
	w := &world{
		instances: instances("u1", "u2"),
		errs:      map[string][]error{"ListByTag": {&provider.PartialError{Scopes: []string{"zones/b"}, Err: errors.New("unreachable")}}},
	}
	s := sweeper(t, w)
	w.instances = w.instances[:1]
	s.Sweep(t.Context())
	w.expect(t, "ListByTag ours, Proxies, CurrentProxies, Delete i-u1", "gcp orphan deleted, partial")
	if s.memory[identity{"gcp", "i-u2"}] == nil {
		t.Error("an instance of a scope that was not seen is forgotten")
	}
	s.Sweep(t.Context())
	if len(s.memory) != 0 {
		t.Errorf("a complete list lacks %v", s.memory)
	}
}

func TestProviderThatFailsHidesItselfAndNoOther(t *testing.T) {
	w := &world{instances: instances("u1"), errs: map[string][]error{"ListByTag": {errors.New("503")}}}
	s := sweeper(t, w)
	other := &world{instances: []provider.Instance{sighting("u2", "i-u2").Instance}}
	other.instances[0].CreatedAt = noon.Add(-24 * time.Hour)
	s.Providers["hetzner"] = other
	s.Sweep(t.Context())
	if w.deleted() != nil || !slices.Equal(other.deleted(), []string{"i-u2"}) {
		t.Errorf("deleted %v and %v", w.deleted(), other.deleted())
	}
}

func TestListWaitsForOurOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := &provider.ThrottledError{After: time.Second}
		w := &world{instances: instances("u1"), errs: map[string][]error{"ListByTag": {wait, wait}}}
		begun := time.Now()
		sweeper(t, w).Sweep(t.Context())
		w.expect(t, "ListByTag ours, ListByTag ours, ListByTag ours, Proxies, CurrentProxies, Delete i-u1", "gcp orphan deleted, complete")
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestDryRunDeletesNothing(t *testing.T) {
	w := &world{instances: instances("u1")}
	s := sweeper(t, w)
	s.DryRun = true
	s.Sweep(t.Context())
	w.expect(t, "ListByTag ours, Proxies, CurrentProxies", "gcp orphan dry_run, complete")
}

// TestOneSweepDeletesFew: an empty view of Proxies costs five instances, or a tenth.
func TestOneSweepDeletesFew(t *testing.T) {
	for total, most := range map[int]int{3: 3, 40: 5, 100: 10} {
		var uids []string
		for i := range total {
			uids = append(uids, strconv.Itoa(i))
		}
		w := &world{instances: instances(uids...)}
		s := sweeper(t, w)
		s.Sweep(t.Context())
		if got := len(w.deleted()); got != most {
			t.Errorf("%d of %d deleted, want %d", got, total, most)
		}
	}
}

// TestWhatCannotBeDeletedHoldsUpNoOther: its turn comes last the next time.
func TestWhatCannotBeDeletedHoldsUpNoOther(t *testing.T) {
	var uids []string
	for i := range 2 * maxKills {
		uids = append(uids, fmt.Sprintf("u%02d", i))
	}
	refused := errors.New("in use")
	w := &world{instances: instances(uids...), errs: map[string][]error{"Delete": slices.Repeat([]error{refused}, maxKills)}}
	s := sweeper(t, w)
	s.Sweep(t.Context())
	w.asked = nil
	s.Sweep(t.Context())
	if got := w.deleted(); len(got) != maxKills || got[0] != "i-u05" {
		t.Errorf("then deleted %v", got)
	}
}

func TestRestrictedViewSweepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{instances: instances("u1")}
		s := sweeper(t, w)
		s.Namespaced = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		s.Run(ctx)
		w.expect(t, "", "refused: namespaced")
		s.AllowNamespaced = true
		s.Sweep(t.Context())
		if got := w.deleted(); len(got) != 1 {
			t.Errorf("allowed, deleted %v", got)
		}
	})
}

// TestFirstSweepWaitsAnInterval, and an instance first seen then goes MinAge later.
func TestFirstSweepWaitsAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{instances: instances("u1")}
		w.instances[0].CreatedAt = time.Now()
		s := sweeper(t, w)
		s.Now, s.memory = time.Now, nil
		ctx, cancel := context.WithCancel(t.Context())
		go s.Run(ctx)
		for _, step := range []struct {
			after time.Duration
			asked int
		}{{s.Interval - 1, 0}, {1, 2}, {s.Interval - 1, 2}, {1, 6}} {
			time.Sleep(step.after)
			synctest.Wait()
			w.mu.Lock()
			if len(w.asked) != step.asked {
				t.Errorf("%d calls, want %d: %v", len(w.asked), step.asked, w.asked)
			}
			w.mu.Unlock()
		}
		cancel()
		synctest.Wait()
		if !slices.Equal(w.deleted(), []string{"i-u1"}) {
			t.Errorf("deleted %v", w.deleted())
		}
	})
}

func TestKillIsLoggedWithWhatItWas(t *testing.T) {
	var log strings.Builder
	w := &world{instances: instances("u1")}
	s := sweeper(t, w)
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.Sweep(t.Context())
	if want := `reason=orphan provider=gcp instance=i-u1 uid=u1`; !strings.Contains(log.String(), want) {
		t.Errorf("the log lacks %s:\n%s", want, log.String())
	}
}
