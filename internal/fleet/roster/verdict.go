package roster

import (
	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/reconcile"
)

var _ reconcile.Health = (*Roster)(nil)

// Snapshot implements [reconcile.Health] by the engine of this term.
func (r *Roster) Snapshot(p *egress_v1alpha1.Proxy) (reconcile.Verdict, bool) {
	if t := r.now(); t != nil {
		return t.engine.Snapshot(p)
	}
	return lifecycle.Verdict{}, false
}

// Doubtful implements [reconcile.Health]. While nobody probes here, it is.
func (r *Roster) Doubtful() bool {
	t := r.now()
	return t == nil || t.engine.Doubtful()
}

// Probed implements [reconcile.Health] by the engine of this term.
func (r *Roster) Probed(p *egress_v1alpha1.Proxy) bool {
	t := r.now()
	return t != nil && t.engine.Probed(p)
}
