// Package reconcile brings one Proxy after the other to what it wants: it looks, lets
// internal/fleet/lifecycle decide, and acts, on a provider and on the store of objects.
//
// It knows neither Kubernetes clients nor files: a shell gives it [Objects], calls
// Reconcile for a key whenever something may have changed, and again after the time
// that the result names. It is the only writer of a Proxy's status.
package reconcile

import (
	"context"
	"errors"
	"time"

	core_v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lifecycle"
)

// ErrNoObject means that the store is certain that there is no such object.
var ErrNoObject = errors.New("no such object")

// ErrConflict means that the object has changed since it was read; read it again.
var ErrConflict = errors.New("the object has changed meanwhile")

// Objects is where Proxies and Secrets are kept: an API server, or files and a state
// directory. Every call has a deadline; errors other than those named are transient.
type Objects interface {
	// Proxy returns a copy of the object, perhaps from a cache; [ErrNoObject].
	Proxy(ctx context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error)
	// Current reads past any cache; [ErrNoObject].
	Current(ctx context.Context, key types.NamespacedName) (*egress_v1alpha1.Proxy, error)
	// Proxies returns all that there are, perhaps from a cache, not to be changed.
	Proxies(ctx context.Context) ([]*egress_v1alpha1.Proxy, error)
	// Secret returns the data of a Secret as it is now; [ErrNoObject].
	Secret(ctx context.Context, key types.NamespacedName) (*core_v1.Secret, error)
	// PatchMetadata writes the annotations and finalizers of p that differ from base, and
	// nothing else; [ErrConflict] when the finalizers have changed since, [ErrNoObject].
	// Afterwards p has the new resource version; its status is untouched.
	PatchMetadata(ctx context.Context, base, p *egress_v1alpha1.Proxy) error
	// PatchStatus writes the status of p as far as it differs from base; [ErrNoObject].
	PatchStatus(ctx context.Context, base, p *egress_v1alpha1.Proxy) error
}

// Leases knows who uses a proxy. Without leases nobody does.
type Leases interface {
	// Drain keeps new leases off the proxy with this UID and returns how many are left. An
	// error says that nobody knows.
	Drain(ctx context.Context, uid types.UID) (active int, err error)
	// Undrain lets it be leased again.
	Undrain(ctx context.Context, uid types.UID) error
}

// Health is the verdict of probes.
type Health interface {
	// Snapshot returns the verdict on the instance of p at its address, false without one.
	Snapshot(p *egress_v1alpha1.Proxy) (Verdict, bool)
	// Doubtful says that what is unhealthy is likely so for no fault of its own.
	Doubtful() bool
	// Probed says whether the verdict on p was found, or found again, by this process.
	Probed(p *egress_v1alpha1.Proxy) bool
}

// Verdict is what probes found.
type Verdict = lifecycle.Verdict

// Result says when to look again; 0 is only when something changes.
type Result struct{ After time.Duration }
