package cancel

import (
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/limit"
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
type Limiter struct{ networks *limit.Buckets[netip.Prefix] }

// NewLimiter returns a Limiter that has seen nobody. It takes the time from now.
func NewLimiter(limits Limits, now func() time.Time) *Limiter {
	return &Limiter{limit.NewBuckets[netip.Prefix](limit.Rate{PerSecond: limits.Rate, Burst: limits.Burst, Keys: limits.Networks}, now)}
}

// Allow counts one cancel from a client and tells whether it may go on. Clients without
// a valid address share one network.
func (l *Limiter) Allow(client netip.Addr) bool { return l.networks.Take(Network(client)) }

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
