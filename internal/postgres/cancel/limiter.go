package cancel

import (
	"container/list"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits say how often one network may cancel.
type Limits struct {
	// Rate is the number of cancels a second, on average; 0 or less is no limit.
	Rate float64
	// Burst is the number of cancels at once, at least 1 if there is a Rate.
	Burst int
	// Networks is the number of networks that are remembered, at least 1 if there is a
	// Rate. The one that has been silent for longest is forgotten first.
	Networks int
}

// Limiter says which network asks too often: IPv4 by /24, IPv6 by /64. Its methods may
// be called from several goroutines.
type Limiter struct {
	limits Limits
	now    func() time.Time

	mu       sync.Mutex
	networks map[netip.Prefix]*list.Element
	recent   *list.List // of *bucket, the last to ask first
}

type bucket struct {
	network netip.Prefix
	tokens  *rate.Limiter
}

// NewLimiter returns a Limiter that has seen nobody. It takes the time from now.
func NewLimiter(limits Limits, now func() time.Time) *Limiter {
	limits.Burst, limits.Networks = max(limits.Burst, 1), max(limits.Networks, 1)
	return &Limiter{
		limits: limits, now: now,
		networks: make(map[netip.Prefix]*list.Element), recent: list.New(),
	}
}

// Allow counts one cancel from a client and tells whether it may go on. Clients without
// a valid address share one network.
func (l *Limiter) Allow(client netip.Addr) bool {
	if l.limits.Rate <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket(Network(client)).tokens.AllowN(l.now(), 1)
}

// bucket returns the network's, as the one that asked last.
func (l *Limiter) bucket(network netip.Prefix) *bucket {
	if element, ok := l.networks[network]; ok {
		l.recent.MoveToFront(element)
		return element.Value.(*bucket)
	}
	if l.recent.Len() == l.limits.Networks {
		oldest := l.recent.Remove(l.recent.Back()).(*bucket)
		delete(l.networks, oldest.network)
	}
	b := &bucket{network: network, tokens: rate.NewLimiter(rate.Limit(l.limits.Rate), l.limits.Burst)}
	l.networks[network] = l.recent.PushFront(b)
	return b
}

// Network is the network that an address is counted with: its /24, or its /64 if it is
// IPv6. IPv4 inside IPv6 is IPv4. It is the zero Prefix if the address is invalid.
func Network(client netip.Addr) netip.Prefix {
	client = client.Unmap()
	bits := 64
	if client.Is4() {
		bits = 24
	}
	network, err := client.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}
