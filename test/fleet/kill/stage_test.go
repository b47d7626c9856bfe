package kill_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// stage is what outlives every operator: a store of objects with its users, and the
// world behind a provider.
type stage interface {
	// open returns what a process that begins now has in its hands. Nothing in it is
	// from a process before.
	open(t *testing.T) (objects, provider.Provider)
	// cluster is the label of our instances.
	cluster() string
	// now is the time, for operators too; it goes on only by advance.
	now() time.Time
	advance(t *testing.T, d time.Duration)

	// Users create, change and delete Proxies and write Secrets.
	create(t *testing.T, p *egress_v1alpha1.Proxy)
	edit(t *testing.T, key types.NamespacedName, change func(p *egress_v1alpha1.Proxy))
	remove(t *testing.T, key types.NamespacedName)
	secret(t *testing.T, key types.NamespacedName, data map[string][]byte)
	// proxies are the objects as they are stored.
	proxies(t *testing.T) []*egress_v1alpha1.Proxy

	// provider is the name of the one there is, and spec what a Proxy asks of it, in the
	// first zone.
	provider() string
	spec() egress_v1alpha1.ProxySpec
	// outside is that provider as another fleet has it that uses the same account.
	outside(t *testing.T, cluster string) provider.Provider
	// instances are all of a fleet, also while the world fails.
	instances(t *testing.T, cluster string) []provider.Instance
	// zones are where instances can be: none, or three of them.
	zones() []string
	// troubles are the ways in which the world can fail. It does so from begin to end.
	troubles() []trouble
	begin(t *testing.T, f trouble, on string)
	end(t *testing.T, f trouble)
}

// trouble is a way in which a world may fail.
type trouble string

const (
	// quotaLater: creates are accepted, and end with a quota.
	quotaLater trouble = "an asynchronous quota"
	// forbids: every call is refused for want of rights.
	forbids trouble = "missing rights"
	// stops: the instance stops by itself.
	stops trouble = "an instance that stops"
	// vanishes: the instance is deleted by somebody else.
	vanishes trouble = "an instance that vanishes"
)
