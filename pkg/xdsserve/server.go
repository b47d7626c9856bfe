package xdsserve

import (
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Options tune a Server; the zero value is usable.
type Options struct {
	// Group returns the group of a proxy from its node id and cluster. Default: the cluster.
	Group func(nodeID, nodeCluster string) string
	// WarmTimeout is the longest that a resource waits for a SlowToWarm cluster; default 2 s.
	WarmTimeout time.Duration
	// Grace is how long an unused cluster stays after the routes that left it
	// were acknowledged; default 200 ms.
	Grace time.Duration
	// Observe is called for each Event, in order per proxy, from the stream's
	// goroutine; it must not block.
	Observe func(Event)
}

// Server serves delta ADS. Register it with
// discovery_v3.RegisterAggregatedDiscoveryServiceServer.
type Server struct {
	discovery_v3.UnimplementedAggregatedDiscoveryServiceServer
}

// New returns a Server without resources.
func New(o Options) *Server { panic("todo") }

// Publish changes what is served, atomically, and returns the sequence number
// of the change, which increases by one each time. It does not block on proxies.
func (s *Server) Publish(u Update) uint64 { panic("todo") }

// Retry sends resources again to the proxies that refused them, as for a port
// that was in use.
func (s *Server) Retry(names ...Scoped) { panic("todo") }

// Ledger returns what every connected proxy of a group believes now.
func (s *Server) Ledger(group string) []Belief { panic("todo") }

// Close ends all streams and waits for them.
func (s *Server) Close() { panic("todo") }

// EventKind tells Events apart.
type EventKind string

// Kinds of events.
const (
	Connected    EventKind = "connected"
	Disconnected EventKind = "disconnected"
	// Sent: a response left, with Names and Bytes.
	Sent EventKind = "sent"
	// Acknowledged: the proxy took a response; Names are its resources.
	Acknowledged EventKind = "acknowledged"
	// Refused: the proxy refused Names with Message.
	Refused EventKind = "refused"
	// Settled: everything published up to Seq that this proxy should have is acknowledged or refused.
	Settled EventKind = "settled"
	// WarmTimedOut: Names went out although the clusters that they use did not become ready in time.
	WarmTimedOut EventKind = "warm-timed-out"
)

// Event is something that happened on one proxy's stream.
type Event struct {
	Kind  EventKind
	Proxy string // node id
	Group string
	At    time.Time
	// Seq is the highest sequence number of Publish that the event covers.
	Seq     uint64
	Type    Type
	Names   []string
	Removed []string
	Bytes   int
	Message string
}

// Belief is what one proxy has acknowledged and refused.
type Belief struct {
	Proxy string
	Group string
	Since time.Time // connected since
	// Seq is the highest sequence number of Publish whose resources this proxy has all answered.
	Seq uint64
	// Behind counts resources sent or waiting that it has not answered yet.
	Behind  int
	Refused []Refusal
}

// Refusal is one resource that a proxy refused and that is still wanted.
type Refusal struct {
	Name
	Version string
	Message string
	Origins []string
	At      time.Time
}
