package providertest

import (
	"context"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// anyCall is what every call answers when nothing works.
var anyCall = []clause{
	{"no answer at all", []Fault{Hangs}, hangs},
	{"too many calls", []Fault{Throttles}, func(r *rig) { r.allFail(Throttles, provider.ErrTransient) }},
	{"no rights", []Fault{Forbids}, func(r *rig) { r.allFail(Forbids, provider.ErrPermanent) }},
}

// hangs: a call lasts no longer than its context.
func hangs(r *rig) {
	it := r.running(uidA)
	r.inject(Hangs, "")
	const deadline, most = 50 * time.Millisecond, 20 * time.Second
	for doing, call := range r.calls(it.ID) {
		ctx, cancel := context.WithTimeout(r.Context(), deadline)
		began := time.Now()
		r.refused(doing, call(ctx), provider.ErrTransient)
		if took := time.Since(began); took > most {
			r.Errorf("%s took %v with a deadline of %v", doing, took, deadline)
		}
		cancel()
	}
	r.lift(Hangs)
	if got, err := r.p.Get(r.call(), it.ID); err == nil && got.State == provider.Running {
		r.remove(it.ID) // the delete may have been carried out, or not
	}
}

// calls are all that a provider can be asked for.
func (r *rig) calls(id string) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"create": func(ctx context.Context) error {
			_, err := r.p.Create(ctx, r.world.Request(ours, uidB))
			return err
		},
		"get":    func(ctx context.Context) error { _, err := r.p.Get(ctx, id); return err },
		"delete": func(ctx context.Context) error { return r.p.Delete(ctx, id) },
		"find":   func(ctx context.Context) error { _, err := r.p.Find(ctx, ours, uidA); return err },
		"list":   func(ctx context.Context) error { _, err := r.p.ListByTag(ctx, ours); return err },
	}
}

// allFail: every call fails with the class, and nothing has happened.
func (r *rig) allFail(f Fault, class error) {
	it := r.running(uidA)
	r.inject(f, "")
	for doing, call := range r.calls(it.ID) {
		r.refused(doing, call(r.call()), class)
	}
	r.lift(f)
	r.await(r.p, it.ID, provider.Running)
	r.count(uidB, 0)
}
