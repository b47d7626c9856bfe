package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/cloudinit"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// CallTimeout bounds each call of a provider or of the store of objects.
const CallTimeout = time.Minute

// Reconciler is one fleet's. Its fields are set before the first call.
type Reconciler struct {
	Objects Objects
	// Providers by the name that spec.provider has.
	Providers map[string]provider.Provider
	// Cluster is the label of our instances: the UID of a cluster, or of a state directory.
	Cluster string
	// MaxUnavailable is how much of the fleet replacements may take away at once.
	MaxUnavailable lifecycle.Budget
	// Forward is where instances that boot get gatehouse-forward; zero for nowhere.
	Forward cloudinit.Forward
	Health  Health // nil without
	Leases  Leases // nil without
	Now     func() time.Time

	released released
}

// Reconcile takes the next steps of one Proxy, as many as can be taken without
// waiting. It may be called for several keys at once, not twice for one. An error is
// transient: call again with growing pauses.
func (r *Reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (Result, error) {
	p, err := bounded(ctx, func(ctx context.Context) (*proxy, error) { return r.Objects.Proxy(ctx, key) })
	if errors.Is(err, ErrNoObject) {
		r.released.remove(key)
		return Result{}, nil
	}
	if err != nil {
		return Result{}, fmt.Errorf("read proxy %s: %w", key, err)
	}
	w := &pass{r: r, key: key, state: r.begin(p)}
	return w.run(ctx)
}

// bounded makes one call with a deadline.
func bounded[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return call(ctx)
}
