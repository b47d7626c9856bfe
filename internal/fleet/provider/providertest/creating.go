package providertest

import (
	"errors"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// creating is what comes of a create that goes wrong.
var creating = []clause{
	{"a create whose answer is lost", []Fault{CreateLost}, createLost},
	{"a create that is not possible now", []Fault{CreateUnavailable}, func(r *rig) { r.createFails(CreateUnavailable, provider.ErrTransient) }},
	{"a create that will never be possible", []Fault{CreateInvalid}, func(r *rig) { r.createFails(CreateInvalid, provider.ErrPermanent) }},
	{"a create beyond the quota", []Fault{QuotaNow}, func(r *rig) { r.createFails(QuotaNow, provider.ErrQuotaExceeded) }},
	{"a create without machines left", []Fault{StockoutNow}, func(r *rig) { r.createFails(StockoutNow, provider.ErrQuotaExceeded) }},
	{"a create that ends at the quota", []Fault{QuotaLater}, func(r *rig) { r.createEnds(QuotaLater) }},
	{"a create that ends without machines left", []Fault{StockoutLater}, func(r *rig) { r.createEnds(StockoutLater) }},
	{"a create while the last instance is deleted", []Fault{DeleteStalls}, createWhileDeleted},
	{"a name that somebody has", []Fault{NameTaken}, nameTaken},
	{"an address that comes late", []Fault{AddressLate}, addressLate},
}

// createLost: what was made unheard is found, and adopted by the next create.
func createLost(r *rig) {
	r.inject(CreateLost, "")
	_, err := r.p.Create(r.call(), r.world.Request(ours, uidA))
	r.refused("a create whose answer is lost", err, provider.ErrTransient)
	r.lift(CreateLost)
	r.count(uidA, 1)
	found := r.find(uidA)
	again := r.create(uidA)
	r.same("find", found, again)
	r.count(uidA, 1)
	r.labelled(r.await(r.p, again.ID, provider.Running), r.world.Request(ours, uidA))
}

// createFails: nothing is made, the class tells what to do, and it works once it can.
func (r *rig) createFails(f Fault, class error) {
	r.inject(f, "")
	for range 2 {
		_, err := r.p.Create(r.call(), r.world.Request(ours, uidA))
		r.refused("a create with "+string(f), err, class)
	}
	r.count(uidA, 0)
	r.same("find", r.find(uidA))
	r.lift(f)
	r.running(uidA)
	r.count(uidA, 1)
}

// createEnds: a create is accepted and comes to nothing. Whoever can tell why does, and
// what is left of it can be deleted.
func (r *rig) createEnds(f Fault) {
	r.inject(f, "")
	it := r.create(uidA)
	r.until(func() bool {
		got, err := r.p.Get(r.call(), it.ID)
		return errors.Is(err, provider.ErrNotFound) || err == nil && got.State == provider.Stopped
	}, func() { r.Fatalf("%s neither goes nor stops", it.ID) })
	if outcome, ok := r.p.(provider.CreateOutcome); ok {
		r.refused("the create", outcome.CreateError(r.call(), it.ID, it.Operation), provider.ErrQuotaExceeded)
	}
	r.lift(f)
	r.remove(it.ID)
	r.running(uidA)
	r.count(uidA, 1)
}

func createWhileDeleted(r *rig) {
	it := r.running(uidA)
	r.inject(DeleteStalls, it.ID)
	if err := r.p.Delete(r.call(), it.ID); err != nil {
		r.Fatal(err)
	}
	_, err := r.p.Create(r.call(), r.world.Request(ours, uidA))
	r.refused("a create beside the deletion", err, provider.ErrTransient)
	r.lift(DeleteStalls)
	r.gone(it.ID)
	r.running(uidA)
	r.count(uidA, 1)
}

// nameTaken: what somebody made by hand stays as it is.
func nameTaken(r *rig) {
	r.inject(NameTaken, provider.NameFromUID(uidA))
	_, err := r.p.Create(r.call(), r.world.Request(ours, uidA))
	r.refused("a create with a name that somebody has", err, provider.ErrPermanent)
	r.same("list", r.list(ours))
	r.same("find", r.find(uidA))
	r.count(uidA, 1)
	r.lift(NameTaken)
}

func addressLate(r *rig) {
	r.inject(AddressLate, "")
	it := r.create(uidA)
	for range 20 {
		r.world.Step(r)
		if got, err := r.p.Get(r.call(), it.ID); err != nil || got.State != provider.Provisioning {
			r.Fatalf("without an address it is in state %d, %v; want %d", got.State, err, provider.Provisioning)
		}
	}
	r.lift(AddressLate)
	if got := r.await(r.p, it.ID, provider.Running); !got.IP.IsValid() {
		r.Error("it runs without an address")
	}
}
