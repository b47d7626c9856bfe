package providertest

import (
	"context"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

func canceled(r *rig) {
	it := r.running(uidA)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	_, err := r.p.Create(ctx, r.world.Request(ours, uidB))
	r.refused("create", err, provider.ErrTransient)
	_, err = r.p.Get(ctx, it.ID)
	r.refused("get", err, provider.ErrTransient)
	r.refused("delete", r.p.Delete(ctx, it.ID), provider.ErrTransient)
	_, err = r.p.Find(ctx, ours, uidA)
	r.refused("find", err, provider.ErrTransient)
	_, err = r.p.ListByTag(ctx, ours)
	r.refused("list", err, provider.ErrTransient)
	r.count(uidB, 0)
	r.await(r.p, it.ID, provider.Running)
}

func garbage(r *rig) {
	it := r.running(uidA)
	for _, id := range []string{"", "/", "..", "../" + it.ID, it.ID + "/", it.ID + "x", "zones//instances/", "a/b/c/d/e/f", "%2e%2e", "\x00"} {
		if got, err := r.p.Get(r.call(), id); err == nil {
			r.Errorf("get %q: %+v", id, got)
		} else {
			r.refused("get", err, provider.ErrNotFound, provider.ErrPermanent)
		}
		_ = r.p.Delete(r.call(), id) // an error or not
	}
	for range 3 {
		r.world.Step(r)
	}
	r.await(r.p, it.ID, provider.Running)
}

func nothing(r *rig) {
	r.same("list", r.list(ours))
	r.same("find", r.find(uidA))
}
