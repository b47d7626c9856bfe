package providertest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// Memory is a world in memory that can have every fault: the suite is tried on it, and
// it stands for a cloud in tests of what is above providers. The zero value is an empty
// world.
type Memory struct {
	// Now is its clock; time.Now if nil.
	Now func() time.Time

	mu        sync.Mutex
	instances map[string]*machine // by ID
	faults    map[Fault]string    // what they are about
	ended     map[string]error    // creates that came to nothing, by operation
	made      int
}

// machine is an instance and how far it is.
type machine struct {
	provider.Instance
	steps    int
	deleting bool
	stopped  bool
	doomed   error // what its create ends with
}

// Steps that an instance takes until it runs.
const steps = 2

// Open implements [World].
func (m *Memory) Open(_ testing.TB, cluster string) provider.Provider { return m.Provider(cluster) }

// Provider returns a provider of the fleet with this label.
func (m *Memory) Provider(cluster string) provider.Provider { return &memoryProvider{m, cluster} }

// Request implements [World].
func (m *Memory) Request(cluster, uid string) provider.CreateRequest {
	return provider.CreateRequest{
		Name: provider.NameFromUID(uid), Cluster: cluster, UID: uid, Hash: strings.Repeat("0123456789abcdef", 4),
		Namespace: "default", Proxy: "a", Zone: "a", Port: 3128, Scheme: "http",
		Credentials: provider.Credentials{Username: "crawler", Password: Password},
	}
}

// Step implements [World].
func (m *Memory) Step(testing.TB) { m.Advance() }

// Advance lets every instance take one step.
func (m *Memory) Advance() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, i := range m.instances {
		i.steps++
		switch {
		case i.deleting && !m.has(DeleteStalls):
			delete(m.instances, id)
		case i.doomed != nil:
			m.ended[i.Operation] = i.doomed
			delete(m.instances, id)
		}
	}
}

// Count implements [World].
func (m *Memory) Count(_ testing.TB, name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := 0
	for _, i := range m.instances {
		if i.Name == name {
			count++
		}
	}
	return count
}

// Inject implements [World].
func (m *Memory) Inject(_ testing.TB, f Fault, on string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.init()
	m.faults[f] = on
	if happens := events[f]; happens != nil {
		happens(m, on)
	}
}

// events are the faults that happen once.
var events = map[Fault]func(m *Memory, on string){
	NameTaken: func(m *Memory, on string) { m.add(machine{ID: "zones/a/" + on, Name: on}) },
	Duplicate: func(m *Memory, on string) {
		twin := *m.instances[on]
		twin.ID = "zones/b/" + twin.Name
		m.add(twin)
	},
	Stops:    func(m *Memory, on string) { m.instances[on].stopped = true },
	Restarts: func(m *Memory, on string) { m.instances[on].IP = m.address() },
	Vanishes: func(m *Memory, on string) { delete(m.instances, on) },
}

// Lift implements [World].
func (m *Memory) Lift(_ testing.TB, f Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.faults, f)
}

func (m *Memory) init() {
	if m.instances == nil {
		m.instances, m.faults, m.ended = map[string]*machine{}, map[Fault]string{}, map[string]error{}
	}
}

func (m *Memory) has(f Fault) bool { _, has := m.faults[f]; return has }

func (m *Memory) add(i machine) *machine {
	i.IP = m.address()
	m.instances[i.ID] = &i
	return &i
}

func (m *Memory) address() netip.Addr {
	m.made++
	return netip.AddrFrom4([4]byte{192, 0, 2, byte(m.made)})
}

func (m *Memory) now() time.Time {
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	if m.has(ClockSkew) {
		return now().Add(Skew)
	}
	return now()
}

// seen is what the world says of an instance.
func (m *Memory) seen(i *machine) provider.Instance {
	seen := i.Instance
	switch {
	case i.deleting:
		seen.State = provider.Terminating
	case i.stopped:
		seen.State = provider.Stopped
	case i.steps < steps || m.has(AddressLate):
		seen.State, seen.IP = provider.Provisioning, netip.Addr{}
	default:
		seen.State = provider.Running
	}
	return seen
}

// pages is a list as it comes over the wire, all clusters together.
func (m *Memory) pages() [][]provider.Instance {
	var all []provider.Instance
	for _, i := range m.instances {
		all = append(all, m.seen(i))
		if m.has(ListRepeats) {
			all = append(all, m.seen(i))
		}
	}
	pages := [][]provider.Instance{all}
	if m.has(ListPages) {
		pages = slices.Collect(slices.Chunk(all, 1))
	}
	if m.has(ListEmptyPage) {
		pages = slices.Insert(pages, 0, nil)
	}
	return pages
}

// answer is what the world says to a call before anything is done, nil to go on.
func (m *Memory) answer(call Fault) error {
	refusals := []refusal{{Throttles, provider.ErrTransient}, {Forbids, provider.ErrPermanent}, {call, provider.ErrTransient}}
	if call == CreateUnavailable {
		refusals = append(refusals, refusal{CreateInvalid, provider.ErrPermanent},
			refusal{QuotaNow, provider.ErrQuotaExceeded}, refusal{StockoutNow, provider.ErrQuotaExceeded})
	}
	for _, r := range refusals {
		if m.has(r.fault) {
			return fmt.Errorf("%w: fault %s", r.class, r.fault)
		}
	}
	return nil
}

// refusal is a fault that refuses calls, and the class of its error.
type refusal struct {
	fault Fault
	class error
}

var errLost = errors.New("the answer was lost")
