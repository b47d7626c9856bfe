package xdsserve

import (
	"context"
	"sync"
	"time"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
	// Drain is how long connections may be served by an earlier version of their
	// listener, and so how long what such versions look up stays; default Grace.
	Drain time.Duration
	// MaxNames is how many resources a proxy may ask for by name, and say to have
	// of one type; its stream ends with ResourceExhausted when there are more.
	// Default 200,000.
	MaxNames int
	// Observe is called for each Event, in order per proxy, from the stream's
	// goroutine; it must not block, and must not call Close.
	Observe func(Event)
}

func (o Options) withDefaults() Options {
	if o.Group == nil {
		o.Group = func(_, cluster string) string { return cluster }
	}
	if o.WarmTimeout == 0 {
		o.WarmTimeout = 2 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 200 * time.Millisecond
	}
	if o.Drain == 0 {
		o.Drain = o.Grace
	}
	if o.MaxNames == 0 {
		o.MaxNames = 200_000
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	return o
}

// Server serves delta ADS. Register it with
// discovery_v3.RegisterAggregatedDiscoveryServiceServer.
//
// Locks: a session's mu comes before Server.mu. Publish and Retry hold Server.mu
// alone and for the size of the change; each step of a session holds it for reading,
// so that what goes out in one step is one state of the catalog.
type Server struct {
	discovery_v3.UnimplementedAggregatedDiscoveryServiceServer

	opts    Options
	closing context.Context // done when the Server closes
	close   context.CancelFunc
	running sync.WaitGroup

	mu       sync.RWMutex
	catalog  catalog
	streams  map[string]map[*connection]struct{} // by group
	memories map[identity]memory
	closed   bool
	noted    uint64 // (change, stream) pairs, for tests of cost
}

// identity tells proxies apart.
type identity struct{ group, proxy string }

// New returns a Server without resources.
func New(o Options) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{
		opts: o.withDefaults(), closing: ctx, close: cancel,
		catalog:  catalog{groups: map[string]*shelf{}},
		streams:  map[string]map[*connection]struct{}{},
		memories: map[identity]memory{},
	}
}

// Close ends all streams and waits for them. Later streams are refused. It may be
// called more than once.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.close()
	s.running.Wait()
}

// StreamAggregatedResources refuses state-of-the-world ADS with Unimplemented.
func (s *Server) StreamAggregatedResources(discovery_v3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented,
		"only delta ADS is served: set dynamic_resources.ads_config.api_type to DELTA_GRPC in the bootstrap")
}

// enter counts a stream in, unless the Server is closed.
func (s *Server) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosing
	}
	s.running.Add(1)
	return nil
}

var errClosing = status.Error(codes.Unavailable, "the control plane is closing; connect again")
