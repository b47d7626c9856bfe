package forward

import (
	"maps"
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

// Counts are what a proxy has counted since its start, and what it has now.
type Counts struct {
	// Accepted are connections of clients.
	Accepted int64
	// Admitted and Pending are those that are open: let in, or not yet.
	Admitted, Pending, Tunnels int
	// Sent and Received are bytes to and from targets.
	Sent, Received int64
	// Requests are those of clients that were let in, by protocol: http, connect, socks5.
	Requests map[string]int64
	// Refusals are by error type of RFC 9209.
	Refusals       map[string]int64
	WrongPasswords int64
	// Draining is true while the proxy goes away.
	Draining bool
}

// Counts returns all counts.
func (s *Server) Counts() Counts {
	conns := s.conns.Counts()
	n := Counts{
		Accepted: s.counters.connections.Load(), Admitted: conns.Admitted, Pending: conns.Silent + conns.Spoken,
		Requests: make(map[string]int64), WrongPasswords: s.counters.wrong.Load(), Draining: s.draining.Err() != nil,
	}
	for i, name := range protocols {
		n.Requests[name] = s.counters.requests[i].Load()
	}
	s.counters.mu.Lock()
	defer s.counters.mu.Unlock()
	n.Sent, n.Received, n.Tunnels, n.Refusals = s.counters.sent.Load(), s.counters.received.Load(), len(s.counters.tunnels), maps.Clone(s.counters.refusals)
	for r := range s.counters.tunnels {
		sent, received := r.Forwarded()
		n.Sent, n.Received = n.Sent+sent, n.Received+received
	}
	return n
}
