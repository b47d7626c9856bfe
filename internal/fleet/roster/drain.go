package roster

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

var _ reconcile.Leases = (*Roster)(nil)

// errUnknown means that nobody can say how many leases there are.
var errUnknown = errors.New("the leases are not known yet")

// Drain implements [reconcile.Leases].
func (r *Roster) Drain(ctx context.Context, uid types.UID) (active int, err error) {
	r.telling.Lock()
	defer r.telling.Unlock()
	t := r.now()
	if t == nil || !r.mark(string(uid), true) {
		return 0, errUnknown
	}
	if t.silent {
		t.due[string(uid)] = true
		return 0, lease.ErrUnavailable
	}
	if err := r.tellOne(ctx, t, string(uid)); err != nil {
		r.later(t, string(uid), err)
		return 0, err
	}
	ctx, cancel := t.bound(ctx)
	defer cancel()
	use, err := t.store.Use(ctx, string(uid))
	return use.Active, err
}

// Undrain implements [reconcile.Leases].
func (r *Roster) Undrain(_ context.Context, uid types.UID) error {
	r.mu.RLock()
	e := r.byUID[string(uid)]
	drained := e != nil && e.drained
	r.mu.RUnlock()
	if drained && r.mark(string(uid), false) {
		r.Touch(e.key)
	}
	return nil
}

// mark says whether there is such a Proxy.
func (r *Roster) mark(uid string, drained bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byUID[uid]
	if e != nil {
		e.drained = drained
	}
	return e != nil
}
