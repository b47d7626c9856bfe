package providertest

import (
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Subject is a provider under test.
type Subject struct {
	// New makes a world of its own for one test, with no instance in it. What it starts
	// ends with the test.
	New func(t *testing.T) World
	// Impossible says of each fault that this world cannot have why it cannot.
	Impossible map[Fault]string
}

// World is what a provider acts on, seen from behind. Its methods may be called while
// calls of the provider are under way.
type World interface {
	// Open returns a new provider, as a fleet with this cluster label would make it when
	// it starts. All providers of a world see the same instances.
	Open(tb testing.TB, cluster string) provider.Provider
	// Request returns a request that is accepted. Its Name is that of the UID, its Hash
	// has 64 digits, and its Credentials hold [Password].
	Request(cluster, uid string) provider.CreateRequest
	// Step lets the world go on, where it does not by itself: what was accepted comes a
	// step nearer to its end. The suite calls it whenever it looks again.
	Step(tb testing.TB)
	// Count returns how many instances of this name there are, by whomever they were made,
	// also those being deleted. It does not ask the provider.
	Count(tb testing.TB, name string) int
	// Inject begins a fault, which lasts until Lift. On is what it is about, as the fault
	// says, or empty.
	Inject(tb testing.TB, f Fault, on string)
	// Lift ends a fault.
	Lift(tb testing.TB, f Fault)
}

// Password is in every request of the suite; no error may hold it.
const Password = "hunter2-of-the-contract"

// Run holds the provider to the contract, one subtest for each clause.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for f, reason := range s.Impossible {
		if reason == "" || !f.known() {
			t.Errorf("fault %q is declared impossible with the reason %q: name a fault of this package, and why", f, reason)
		}
	}
	for _, c := range clauses {
		if reason, not := c.impossible(s); not {
			t.Logf("not tested: %s", reason)
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.test(newRig(t, s)) })
	}
}
