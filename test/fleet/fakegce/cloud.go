package fakegce

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
)

// Options are how the world is when all is well. They may be changed by [Cloud.Set].
type Options struct {
	// Projects and Zones exist; all others do not.
	Projects, Zones []string
	// An accepted instance is in state PROVISIONING, STAGING after StageAfter, RUNNING
	// after RunAfter, and has its external address AddressAfter later. Its operation ends
	// when it runs; one that fails ends after StageAfter. One that is deleted is gone after
	// GoneAfter.
	StageAfter, RunAfter, AddressAfter, GoneAfter time.Duration
	// NoAddress keeps external addresses from coming, NoEnd keeps deletions from ending.
	NoAddress, NoEnd bool
	// PageSize is the most instances in a page of a list; 0 is what the client asks for.
	PageSize int
	// EmptyPage begins lists with a page without instances, Repeat has every one twice.
	EmptyPage, Repeat bool
	// Quota is the most instances in a project; 0 is no limit.
	Quota int
	// Skew is how far creation times are ahead.
	Skew time.Duration
	// Latency is before every answer.
	Latency time.Duration
	// Now is the clock; nil is the machine's.
	Now func() time.Time `json:"-"`
}

// Cloud is the whole service. It is a [http.Handler].
type Cloud struct {
	mu          sync.Mutex
	o           Options
	machines    map[string]*machine   // by path
	operations  map[string]*operation // by path
	requests    map[string]*request   // by request ID
	unreachable map[string]string     // scope → how
	faults      map[int]*fault
	calls       []Call
	broken      []string
	serial      int
	held        []*hold
	heldChanged chan struct{}
	mux         *http.ServeMux
	ahead       atomic.Int64 // of the clock
}

// New returns a service without instances.
func New(o Options) *Cloud {
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.Projects) == 0 {
		o.Projects = []string{"test-project"}
	}
	if len(o.Zones) == 0 {
		o.Zones = []string{"europe-west1-b", "europe-west1-c", "us-central1-a"}
	}
	c := &Cloud{
		o: o, machines: map[string]*machine{}, operations: map[string]*operation{}, requests: map[string]*request{},
		unreachable: map[string]string{}, faults: map[int]*fault{}, heldChanged: make(chan struct{}),
	}
	clock := o.Now
	c.o.Now = func() time.Time { return clock().Add(time.Duration(c.ahead.Load())) }
	c.route()
	return c
}

// Advance puts the service's clock forward.
func (c *Cloud) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// Set changes the options.
func (c *Cloud) Set(change func(o *Options)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.o)
}

// ServeHTTP implements [http.Handler].
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.mux.ServeHTTP(w, r) }

// Machine is what the service has, as its owner sees it.
type Machine struct {
	Project, Zone, Name string
	Status              string // as the API says it
	IP                  string // external; empty without
	Labels              map[string]string
	// Foreign was not made by an insert but placed.
	Foreign bool
}

// Machines returns all instances that have not gone yet, sorted.
func (c *Cloud) Machines() []Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	out := make([]Machine, 0, len(c.machines))
	for _, path := range slices.Sorted(maps.Keys(c.machines)) {
		m := c.machines[path]
		if !m.visible() {
			continue
		}
		it := m.view(c.o)
		out = append(out, Machine{
			Project: m.project, Zone: m.zone, Name: it.GetName(), Status: it.GetStatus(),
			IP: external(it), Labels: maps.Clone(it.GetLabels()), Foreign: m.foreign,
		})
	}
	return out
}

func external(it *computepb.Instance) string {
	for _, nic := range it.GetNetworkInterfaces() {
		for _, access := range nic.GetAccessConfigs() {
			return access.GetNatIP()
		}
	}
	return ""
}

// Broken returns what nobody should do and somebody did: a call outside those named
// above, a foreign instance deleted, two instances of one UID and hash at once.
func (c *Cloud) Broken() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.broken)
}

// breach notes one of them. The lock is held.
func (c *Cloud) breach(parts ...string) { c.broken = append(c.broken, strings.Join(parts, " ")) }
