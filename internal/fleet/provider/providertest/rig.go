package providertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Labels of the suite: ours, and those of a fleet that uses the same account.
const (
	ours   = "0b9a7c52-5f7e-4c8e-9d1b-0c1f2a3b4c5d"
	theirs = "f6e5d4c3-b2a1-4f0e-8d9c-8b7a69584736"
	uidA   = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
	uidB   = "22222222-bbbb-4bbb-8bbb-bbbbbbbbbbbb"
	uidC   = "33333333-cccc-4ccc-8ccc-cccccccccccc"
)

const (
	// patience is how long anything may take; it only ends what would never.
	patience = time.Minute
	// pause is between two looks.
	pause = 5 * time.Millisecond
)

// rig is a test with its world and a provider of ours.
type rig struct {
	*testing.T
	world World
	p     provider.Provider
}

func newRig(t *testing.T, s Subject) *rig {
	t.Helper()
	w := s.New(t)
	return &rig{T: t, world: w, p: w.Open(t, ours)}
}

// call is a context for one call.
func (r *rig) call() context.Context {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	r.Cleanup(cancel)
	return ctx
}

func (r *rig) inject(f Fault, on string) { r.Helper(); r.world.Inject(r, f, on) }
func (r *rig) lift(f Fault)              { r.Helper(); r.world.Lift(r, f) }

// create makes an instance of ours.
func (r *rig) create(uid string) provider.Instance {
	r.Helper()
	got, err := r.p.Create(r.call(), r.world.Request(ours, uid))
	if err != nil {
		r.Fatalf("create %s: %v", uid, err)
	}
	return got
}

// running makes an instance of ours and returns it when it runs.
func (r *rig) running(uid string) provider.Instance {
	r.Helper()
	return r.await(r.p, r.create(uid).ID, provider.Running)
}

// await looks until the instance is in a state.
func (r *rig) await(p provider.Provider, id string, want provider.State) provider.Instance {
	r.Helper()
	var got provider.Instance
	r.until(func() bool {
		var err error
		if got, err = p.Get(r.call(), id); err != nil {
			r.Fatalf("get %s: %v", id, err)
		}
		return got.State == want
	}, func() { r.Fatalf("%s is in state %d, want %d", id, got.State, want) })
	return got
}

// gone looks until the instance is certain not to exist.
func (r *rig) gone(id string) {
	r.Helper()
	r.until(func() bool {
		got, err := r.p.Get(r.call(), id)
		if err == nil && got.State != provider.Terminating && got.State != provider.Stopped {
			r.Logf("%s is in state %d after its deletion was accepted", id, got.State)
		}
		return errors.Is(err, provider.ErrNotFound)
	}, func() { r.Fatalf("%s does not go", id) })
}

// until steps the world and looks, for as long as patience lasts.
func (r *rig) until(so func() bool, failed func()) {
	r.Helper()
	over := time.After(patience)
	again := time.NewTicker(pause)
	defer again.Stop()
	for !so() {
		r.world.Step(r)
		select {
		case <-over:
			failed()
			return
		case <-again.C:
		}
	}
}

// remove deletes an instance and waits until it is gone.
func (r *rig) remove(id string) {
	r.Helper()
	if err := r.p.Delete(r.call(), id); err != nil {
		r.Fatalf("delete %s: %v", id, err)
	}
	r.gone(id)
}

// count asserts how many instances the world has by that UID's name.
func (r *rig) count(uid string, want int) {
	r.Helper()
	if got := r.world.Count(r, provider.NameFromUID(uid)); got != want {
		r.Errorf("there are %d instances named %s, want %d", got, provider.NameFromUID(uid), want)
	}
}

// refused asserts that an error is of a class, is one line, and betrays nothing.
func (r *rig) refused(doing string, err error, class ...error) {
	r.Helper()
	if err == nil {
		r.Fatalf("%s succeeded, want %v", doing, class)
	}
	if !slices.Contains(class, provider.Class(err)) {
		r.Errorf("%s: %v, which is %s; want %v", doing, err, provider.ClassName(err), class)
	}
	if text := err.Error(); strings.Contains(text, Password) || strings.Contains(text, "\n") {
		r.Errorf("%s: the error %q must be one line without a secret", doing, text)
	}
}

// list returns all of a cluster, in the order of their IDs.
func (r *rig) list(cluster string) []provider.Instance {
	r.Helper()
	got, err := r.p.ListByTag(r.call(), cluster)
	if err != nil {
		r.Fatalf("list: %v", err)
	}
	return sorted(got)
}

// find returns all of a UID, in the order of their IDs.
func (r *rig) find(uid string) []provider.Instance {
	r.Helper()
	got, err := r.p.Find(r.call(), ours, uid)
	if err != nil {
		r.Fatalf("find %s: %v", uid, err)
	}
	return sorted(got)
}

func sorted(all []provider.Instance) []provider.Instance {
	slices.SortFunc(all, func(a, b provider.Instance) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// ids are the IDs of instances, sorted.
func ids(all ...provider.Instance) []string {
	var names []string
	for _, i := range all {
		names = append(names, i.ID)
	}
	slices.Sort(names)
	return names
}

// same asserts that these instances, and no others, were seen, each once.
func (r *rig) same(where string, got []provider.Instance, want ...provider.Instance) {
	r.Helper()
	if !slices.Equal(ids(got...), ids(want...)) {
		r.Errorf("%s: %q, want %q", where, ids(got...), ids(want...))
	}
}
