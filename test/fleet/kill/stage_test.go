package kill_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	egress_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/egress/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// stage is what outlives every operator: a store of objects with its users, the world
// behind a provider, and the time, which goes on only by advance.
type stage struct {
	store
	world
	clock *clock
	// processes are the operators here; nil for those of this process.
	processes *processes
}

// store is where Proxies and Secrets are kept.
type store interface {
	// objects are those that a process has in its hands that begins now.
	objects(t *testing.T) objects
	// cluster is the label of our instances.
	cluster() string

	// Users create, change and delete Proxies and write Secrets.
	create(t *testing.T, p *egress_v1alpha1.Proxy)
	edit(t *testing.T, key types.NamespacedName, change func(p *egress_v1alpha1.Proxy))
	remove(t *testing.T, key types.NamespacedName)
	secret(t *testing.T, key types.NamespacedName, data map[string][]byte)
	// proxies are the objects as they are stored.
	proxies(t *testing.T) []*egress_v1alpha1.Proxy
}

// world is where instances are.
type world interface {
	// provider returns a provider as a process of a fleet has it that begins now; name is
	// what spec.provider has, and spec what a Proxy asks of it, in the first zone.
	provider(t *testing.T, cluster string) provider.Provider
	name() string
	spec() egress_v1alpha1.ProxySpec
	// passes lets time pass there.
	passes(t *testing.T, d time.Duration)
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

// clock is the time of operators.
type clock struct{ time.Time }

func newClock() *clock { return &clock{time.Now().UTC()} }

func (c *clock) now() time.Time { return c.Time }

// advance lets time pass, everywhere.
func (s *stage) advance(t *testing.T, d time.Duration) {
	t.Helper()
	s.clock.Time = s.clock.Add(d)
	s.passes(t, d)
}

// machine is a spec for clouds.
func machine(zone string) egress_v1alpha1.ProxySpec {
	return egress_v1alpha1.ProxySpec{
		Zone: zone, MachineType: "e2-micro", Image: "projects/debian-cloud/global/images/family/debian-12",
		CloudInit: &egress_v1alpha1.CloudInit{Inline: "#cloud-config\n"},
	}
}
