package forward

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// What clients ask by.
const (
	overHTTP = iota
	overCONNECT
	overSOCKS
)

// protocols are the values of the label protocol.
var protocols = [...]string{overHTTP: "http", overCONNECT: "connect", overSOCKS: "socks5"}

// counters count since the start.
type counters struct {
	connections    atomic.Int64
	requests       [len(protocols)]atomic.Int64
	wrong          atomic.Int64 // passwords
	sent, received atomic.Int64 // to and from targets, without those of live tunnels

	mu       sync.Mutex
	refusals map[string]int64 // by error type of RFC 9209
	tunnels  map[*proxy.Relay]struct{}
}

func (c *counters) refused(r *RefusalError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals == nil {
		c.refusals = make(map[string]int64)
	}
	c.refusals[r.Kind]++
}

// live counts a tunnel while it lives; the function that it returns ends that.
func (c *counters) live(r *proxy.Relay) (ended func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tunnels == nil {
		c.tunnels = make(map[*proxy.Relay]struct{})
	}
	c.tunnels[r] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.tunnels, r)
		sent, received := r.Forwarded()
		c.sent.Add(sent)
		c.received.Add(received)
	}
}

// snapshot is what the counters say at one moment.
type snapshot struct {
	sent, received int64
	tunnels        int
	refusals       map[string]int64
}

func (c *counters) snapshot() snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := snapshot{sent: c.sent.Load(), received: c.received.Load(), tunnels: len(c.tunnels), refusals: maps.Clone(c.refusals)}
	for r := range c.tunnels {
		sent, received := r.Forwarded()
		s.sent, s.received = s.sent+sent, s.received+received
	}
	return s
}

// kinds are the error types that were counted, in order.
func (s snapshot) kinds() []string { return slices.Sorted(maps.Keys(s.refusals)) }
