package providertest

import (
	"errors"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// looking is what is seen of an instance to which something happens.
var looking = []clause{
	{"a read that fails", []Fault{GetUnavailable}, getUnavailable},
	{"a read that denies what there is", []Fault{GetDenies}, getDenies},
	{"an instance that stops", []Fault{Stops}, stops},
	{"an instance that comes back elsewhere", []Fault{Restarts}, restarts},
	{"an instance that somebody deletes", []Fault{Vanishes}, vanishes},
	{"a clock that is wrong", []Fault{ClockSkew}, clockSkew},
}

// getUnavailable: what cannot be seen is not taken for absent.
func getUnavailable(r *rig) {
	it := r.running(uidA)
	r.inject(GetUnavailable, it.ID)
	_, err := r.p.Get(r.call(), it.ID)
	r.refused("a read that fails", err, provider.ErrTransient)
	r.lift(GetUnavailable)
	r.await(r.p, it.ID, provider.Running)
}

// getDenies: whoever believes it creates again, and gets what there is.
func getDenies(r *rig) {
	it := r.running(uidA)
	r.inject(GetDenies, it.ID)
	_, err := r.p.Get(r.call(), it.ID)
	r.refused("a read that denies what there is", err, provider.ErrNotFound)
	r.lift(GetDenies)
	if again := r.create(uidA); again.ID != it.ID {
		r.Errorf("create returned %s beside %s", again.ID, it.ID)
	}
	r.count(uidA, 1)
}

func stops(r *rig) {
	it := r.running(uidA)
	r.inject(Stops, it.ID)
	got := r.await(r.p, it.ID, provider.Stopped)
	r.labelled(got, r.world.Request(ours, uidA))
	r.same("list", r.list(ours), it)
	r.lift(Stops)
	r.remove(it.ID)
	r.count(uidA, 0)
}

func restarts(r *rig) {
	it := r.running(uidA)
	r.inject(Restarts, it.ID)
	r.until(func() bool {
		got, err := r.p.Get(r.call(), it.ID)
		return err == nil && got.State == provider.Running && got.IP != it.IP
	}, func() { r.Fatalf("the new address of %s is never seen", it.ID) })
	r.lift(Restarts)
	r.count(uidA, 1)
}

func vanishes(r *rig) {
	it := r.running(uidA)
	r.inject(Vanishes, it.ID)
	r.gone(it.ID)
	r.lift(Vanishes)
	r.same("list", r.list(ours))
	r.running(uidA)
}

// clockSkew: times are those of the provider's clock, whatever it shows.
func clockSkew(r *rig) {
	r.inject(ClockSkew, "")
	it := r.running(uidA)
	if ahead := time.Until(it.CreatedAt); ahead < Skew-time.Hour || ahead > Skew+time.Hour {
		r.Errorf("created %v ahead of us, want what the provider's clock says: %v", ahead, Skew)
	}
	for _, listed := range r.list(ours) {
		if !listed.CreatedAt.Equal(it.CreatedAt) {
			r.Errorf("list says that it was created at %v, get %v", listed.CreatedAt, it.CreatedAt)
		}
	}
	r.lift(ClockSkew)
}

// deleting is what comes of a delete that goes wrong.
var deleting = []clause{
	{"a delete that is not possible now", []Fault{DeleteUnavailable}, deleteUnavailable},
	{"a delete whose answer is lost", []Fault{DeleteLost}, deleteLost},
	{"a delete that does not end", []Fault{DeleteStalls}, deleteStalls},
}

func deleteUnavailable(r *rig) {
	it := r.running(uidA)
	r.inject(DeleteUnavailable, it.ID)
	r.refused("a delete", r.p.Delete(r.call(), it.ID), provider.ErrTransient)
	r.await(r.p, it.ID, provider.Running)
	r.lift(DeleteUnavailable)
	r.remove(it.ID)
	r.count(uidA, 0)
}

func deleteLost(r *rig) {
	it := r.running(uidA)
	r.inject(DeleteLost, it.ID)
	r.refused("a delete", r.p.Delete(r.call(), it.ID), provider.ErrTransient)
	r.lift(DeleteLost)
	r.remove(it.ID)
	r.count(uidA, 0)
}

// deleteStalls: it is seen to be under way for as long as it lasts, never as gone.
func deleteStalls(r *rig) {
	it := r.running(uidA)
	r.inject(DeleteStalls, it.ID)
	for range 3 {
		if err := r.p.Delete(r.call(), it.ID); err != nil {
			r.Fatalf("delete: %v", err)
		}
		r.world.Step(r)
		if got, err := r.p.Get(r.call(), it.ID); err != nil || got.State != provider.Terminating {
			r.Errorf("it is in state %d, %v; want %d", got.State, err, provider.Terminating)
		}
		r.same("list", r.list(ours), it)
		r.same("find", r.find(uidA), it)
	}
	r.count(uidA, 1)
	r.lift(DeleteStalls)
	r.until(func() bool {
		_, err := r.p.Get(r.call(), it.ID)
		return errors.Is(err, provider.ErrNotFound)
	}, func() { r.Fatalf("%s does not go", it.ID) })
}
