package providertest

import (
	"errors"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// listing is what a list says that is not whole, or too long.
var listing = []clause{
	{"a list that fails", []Fault{ListUnavailable}, listUnavailable},
	{"a list in part", []Fault{ListPartial}, listPartial},
	{"a list in pages", []Fault{ListPages}, func(r *rig) { r.listsAll(ListPages) }},
	{"a list whose first page is empty", []Fault{ListEmptyPage}, func(r *rig) { r.listsAll(ListEmptyPage) }},
	{"a list that repeats itself", []Fault{ListRepeats}, func(r *rig) { r.listsAll(ListRepeats) }},
	{"a second instance of a UID", []Fault{Duplicate}, duplicate},
}

// listUnavailable: what cannot be seen is an error, never an empty list.
func listUnavailable(r *rig) {
	r.running(uidA)
	r.inject(ListUnavailable, "")
	_, err := r.p.ListByTag(r.call(), ours)
	r.refused("a list", err, provider.ErrTransient)
	r.lift(ListUnavailable)
	if got := r.list(ours); len(got) != 1 {
		r.Errorf("a list has %d instances, want 1", len(got))
	}
}

// listPartial: it says that it is one, and what it shows is true.
func listPartial(r *rig) {
	it := r.running(uidA)
	r.inject(ListPartial, "")
	got, err := r.p.ListByTag(r.call(), ours)
	r.partial("list", got, err, it)
	got, err = r.p.Find(r.call(), ours, uidB)
	r.partial("find", got, err)
	r.lift(ListPartial)
	r.same("list", r.list(ours), it)
}

func (r *rig) partial(where string, got []provider.Instance, err error, want ...provider.Instance) {
	r.Helper()
	r.refused(where+" in part", err, provider.ErrTransient)
	if partial, ok := errors.AsType[*provider.PartialError](err); !ok || len(partial.Scopes) == 0 {
		r.Errorf("%s in part: %v, want an error that names the scopes", where, err)
	}
	r.same(where, got, want...)
}

func (r *rig) listsAll(f Fault) {
	a, b, c := r.running(uidA), r.running(uidB), r.running(uidC)
	r.inject(f, "")
	r.same("list", r.list(ours), a, b, c)
	r.same("find", r.find(uidB), b)
	r.lift(f)
}

// duplicate: both are seen, are told apart, and can be deleted one by one.
func duplicate(r *rig) {
	it := r.running(uidA)
	r.inject(Duplicate, it.ID)
	r.lift(Duplicate)
	found := r.find(uidA)
	r.same("list", r.list(ours), found...)
	if len(found) != 2 || found[0].ID == found[1].ID {
		r.Fatalf("find: %q, want %q and another", ids(found...), it.ID)
	}
	for _, one := range found {
		if one.UID != uidA || one.Cluster != ours {
			r.Errorf("%s is labelled %q, %q", one.ID, one.Cluster, one.UID)
		}
		if one.ID != it.ID {
			r.remove(one.ID)
		}
	}
	r.same("find", r.find(uidA), it)
	r.await(r.p, it.ID, provider.Running)
}
