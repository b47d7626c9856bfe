package providertest

import (
	"errors"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// plain is what a provider does when nothing fails.
var plain = []clause{
	{"an instance lives", nil, lives},
	{"a create can be repeated", nil, createTwice},
	{"a delete can be repeated", nil, deleteTwice},
	{"an instance is made anew", nil, anew},
	{"a new operator finds what there is", nil, reopened},
	{"another fleet's instances are not seen or touched", nil, foreign},
	{"a name can be another fleet's", nil, foreignName},
	{"many calls at once", nil, concurrent},
	{"one create many times at once", nil, race},
	{"an ended context", nil, canceled},
	{"IDs that nobody gave", nil, garbage},
	{"nothing is an empty list", nil, nothing},
}

func lives(r *rig) {
	request := r.world.Request(ours, uidA)
	before := time.Now()
	created := r.create(uidA)
	r.labelled(created, request)
	got := r.await(r.p, created.ID, provider.Running)
	r.labelled(got, request)
	if !got.IP.IsValid() || got.IP.IsUnspecified() {
		r.Errorf("it runs at the address %q", got.IP)
	}
	if age := got.CreatedAt.Sub(before); age < -time.Minute || age > time.Hour {
		r.Errorf("it was created at %v, which is %v after it was asked for", got.CreatedAt, age)
	}
	for where, all := range map[string][]provider.Instance{"find": r.find(uidA), "list": r.list(ours)} {
		if len(all) != 1 {
			r.Fatalf("%s: %d instances, want 1", where, len(all))
		}
		listed := all[0]
		listed.Operation, got.Operation = "", ""
		if !listed.CreatedAt.Equal(got.CreatedAt) {
			r.Errorf("%s says that it was created at %v, get %v", where, listed.CreatedAt, got.CreatedAt)
		}
		listed.CreatedAt = got.CreatedAt
		if listed != got {
			r.Errorf("%s says %+v, get %+v", where, listed, got)
		}
	}
	r.remove(created.ID)
	r.count(uidA, 0)
	r.same("list", r.list(ours))
	r.same("find", r.find(uidA))
}

// labelled asserts what an instance says of itself.
func (r *rig) labelled(got provider.Instance, want provider.CreateRequest) {
	r.Helper()
	if got.ID == "" || got.Name != want.Name || got.Cluster != want.Cluster || got.UID != want.UID ||
		got.Hash != provider.LabelHash(want.Hash) || len(got.Hash) != 32 {
		r.Errorf("an instance of\n%q, %q, %q, %q says it is\n%q, %q, %q, %q with the ID %q",
			want.Name, want.Cluster, want.UID, provider.LabelHash(want.Hash), got.Name, got.Cluster, got.UID, got.Hash, got.ID)
	}
}

func createTwice(r *rig) {
	first := r.create(uidA)
	if again := r.create(uidA); again.ID != first.ID {
		r.Errorf("a second create made %s beside %s", again.ID, first.ID)
	}
	r.await(r.p, first.ID, provider.Running)
	other := r.world.Request(ours, uidA)
	other.Hash = "e" + other.Hash[1:]
	if other.Hash == r.world.Request(ours, uidA).Hash {
		other.Hash = "f" + other.Hash[1:]
	}
	again, err := r.p.Create(r.call(), other)
	if err != nil || again.ID != first.ID || again.Hash != first.Hash {
		r.Errorf("a create with another hash returned %q with hash %q, %v; want what is there, %q with hash %q",
			again.ID, again.Hash, err, first.ID, first.Hash)
	}
	r.count(uidA, 1)
	if got := r.await(r.p, first.ID, provider.Running); got.Hash != first.Hash {
		r.Errorf("its hash is %q now, and was %q", got.Hash, first.Hash)
	}
}

func deleteTwice(r *rig) {
	it := r.running(uidA)
	for range 2 {
		if err := r.p.Delete(r.call(), it.ID); err != nil {
			r.Fatalf("delete: %v", err)
		}
	}
	r.gone(it.ID)
	if err := r.p.Delete(r.call(), it.ID); err != nil {
		r.Errorf("delete what is gone: %v", err)
	}
}

func anew(r *rig) {
	r.remove(r.running(uidA).ID)
	r.running(uidA)
	r.count(uidA, 1)
}

func reopened(r *rig) {
	it := r.create(uidA)
	r.p = r.world.Open(r, ours)
	r.same("find", r.find(uidA), it)
	got := r.await(r.p, it.ID, provider.Running)
	r.labelled(got, r.world.Request(ours, uidA))
	if again := r.create(uidA); again.ID != it.ID {
		r.Errorf("create returned %s, want %s", again.ID, it.ID)
	}
	r.remove(it.ID)
}

func foreign(r *rig) {
	other := r.world.Open(r, theirs)
	their, err := other.Create(r.call(), r.world.Request(theirs, uidB))
	if err != nil {
		r.Fatal(err)
	}
	r.await(other, their.ID, provider.Running)
	our := r.running(uidA)
	r.same("list", r.list(ours), our)
	r.same("find", r.find(uidB))
	if got, err := r.p.Get(r.call(), their.ID); err == nil && got.Cluster == ours {
		r.Errorf("get of another fleet's instance says that it is ours: %+v", got)
	}
	_ = r.p.Delete(r.call(), their.ID) // an error or not: it stays
	for range 3 {
		r.world.Step(r)
	}
	if got, err := other.Get(r.call(), their.ID); err != nil || got.State != provider.Running {
		r.Errorf("another fleet's instance is in state %d, %v, after we deleted it", got.State, err)
	}
}

func foreignName(r *rig) {
	other := r.world.Open(r, theirs)
	their, err := other.Create(r.call(), r.world.Request(theirs, uidA))
	if err != nil {
		r.Fatal(err)
	}
	_, err = r.p.Create(r.call(), r.world.Request(ours, uidA))
	r.refused("a create with the name of another fleet's instance", err, provider.ErrPermanent)
	r.await(other, their.ID, provider.Running)
	r.count(uidA, 1)
}

func concurrent(r *rig) {
	var calls sync.WaitGroup
	for _, uid := range []string{uidA, uidB, uidC} {
		calls.Go(func() {
			it, err := r.p.Create(r.call(), r.world.Request(ours, uid))
			if err != nil {
				r.Errorf("create %s: %v", uid, err)
				return
			}
			if _, err := r.p.ListByTag(r.call(), ours); err != nil {
				r.Errorf("list: %v", err)
			}
			if _, err := r.p.Get(r.call(), it.ID); err != nil {
				r.Errorf("get %s: %v", uid, err)
			}
			if err := r.p.Delete(r.call(), it.ID); err != nil {
				r.Errorf("delete %s: %v", uid, err)
			}
		})
	}
	calls.Wait()
	r.until(func() bool { return len(r.list(ours)) == 0 }, func() { r.Errorf("%q were deleted, and stay", ids(r.list(ours)...)) })
}

func race(r *rig) {
	var calls sync.WaitGroup
	made := make([]string, 5)
	for i := range made {
		p := r.p
		if i%2 == 1 {
			p = r.world.Open(r, ours) // an operator that has just lost its lead
		}
		calls.Go(func() {
			got, err := p.Create(r.call(), r.world.Request(ours, uidA))
			if err != nil && !errors.Is(provider.Class(err), provider.ErrTransient) {
				r.Errorf("create: %v", err)
			}
			made[i] = got.ID
		})
	}
	calls.Wait()
	r.count(uidA, 1)
	it := r.create(uidA)
	for _, id := range made {
		if id != "" && id != it.ID {
			r.Errorf("creates at once returned %q, and there is %q", made, it.ID)
		}
	}
}
