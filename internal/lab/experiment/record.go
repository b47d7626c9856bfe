package experiment

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// record orders in time what the goroutines of an experiment do and see. It is the one
// place where they meet.
type record struct {
	clock  func() lab.Moment
	length lab.Moment // of the run; what is seen later is as of its end

	mu     sync.Mutex
	ledger lab.Ledger
	names  map[netip.Addr]string // of all backends so far; an address keeps its last
	truth  map[string]bool
	told   map[string]netip.Addr // what the proxy was or will be told of
	handed lab.Moment            // when it was last told
	agree  bool                  // since then a sample found the belief right
	wake   chan struct{}         // the proxy is being told
}

func newRecord(clock func() lab.Moment, length lab.Moment) *record {
	return &record{
		clock: clock, length: length, names: map[netip.Addr]string{}, truth: map[string]bool{},
		told: map[string]netip.Addr{}, agree: true, wake: make(chan struct{}, 1),
	}
}

// routable says that a backend is routable from now on, or not any more.
func (r *record) routable(e lab.Event, holds bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if holds {
		r.names[address(e)] = e.Backend
		r.truth[e.Backend] = true
	} else {
		delete(r.truth, e.Backend)
	}
	return r.ledger.Truth(r.now(), e.Backend, holds)
}

// tell says what the proxy is to be told of from now on.
func (r *record) tell(e lab.Event, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if there {
		r.told[e.Backend] = address(e)
	} else {
		delete(r.told, e.Backend)
	}
}

// handOver says that the proxy is being told now, and of what.
func (r *record) handOver() []proxy.Backend {
	told := r.toTell()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handed, r.agree = r.now(), false
	poke(r.wake)
	return told
}

// toTell returns all backends that are known to whatever tells the proxy, by address.
func (r *record) toTell() []proxy.Backend {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]proxy.Backend, 0, len(r.told))
	for name, address := range r.told {
		out = append(out, proxy.Backend{Name: name, Address: address})
	}
	slices.SortFunc(out, func(a, b proxy.Backend) int { return a.Address.Compare(b.Address) })
	return out
}

// now is a moment of the run. The caller holds mu.
func (r *record) now() lab.Moment { return min(r.clock(), r.length) }

// saw takes one belief of the proxy.
func (r *record) saw(b proxy.Belief) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, some := r.named(b.All), r.named(b.Some)
	r.agree = r.agree || len(all) == len(r.truth) && len(some) == len(all) &&
		!slices.ContainsFunc(all, func(name string) bool { return !r.truth[name] })
	return r.ledger.Sample(r.now(), all, some)
}

// named names addresses; one that never was a backend's keeps its digits, so that a
// belief in it shows.
func (r *record) named(addresses []netip.Addr) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		name, known := r.names[a]
		if !known {
			name = a.String()
		}
		out[i] = name
	}
	return out
}

// A change is on its way for calm after the proxy was told, and on until the belief is
// right, but no longer than patience: it may be wrong for as long as no reload comes.
const (
	calm     = lab.Moment(300 * time.Millisecond)
	patience = lab.Moment(3 * time.Second)
)

// restless tells whether a change is on its way.
func (r *record) restless() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.clock() - r.handed
	return r.handed > 0 && (since < calm || !r.agree && since < patience)
}

func (r *record) history() (lab.History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Until(r.now())
}

// address of an event; the stage has checked it before the backend was started.
func address(e lab.Event) netip.Addr {
	a, _ := netip.ParseAddr(e.Address)
	return a
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
