package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Reconciler is one fleet's. Its fields are set before the first call.
type Reconciler struct {
	Objects Objects
	// Providers by the name that spec.provider has.
	Providers map[string]provider.Provider
	// Cluster is the label of our instances: the UID of a cluster, or of a state directory.
	Cluster string
	Health  Health // nil without
	Leases  Leases // nil without
	Now     func() time.Time
}

// Reconcile takes the next steps of one Proxy, as many as can be taken without
// waiting. It may be called for several keys at once, not twice for one. An error is
// transient: call again with growing pauses.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (Result, error) {
	_, err := r.Objects.Proxy(ctx, key)
	return Result{}, err
}
