package xds

import (
	"context"
	"fmt"
	"net"
	"os"

	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Target serves xDS on one socket. Its Server is what changes are published to.
type Target struct {
	*xdsserve.Server
	queue    *queue
	path     string
	receive  int
	grpc     *grpc.Server
	listener net.Listener
}

// New returns a Target that is not listening yet. A request may have up to maxReceive
// bytes, and list as many resources as fit; o.Observe and o.MaxNames are its own.
func New(socket string, maxReceive int, o xdsserve.Options) *Target {
	q := newQueue()
	o.Observe = func(e xdsserve.Event) { q.put(withRemedy(e)) }
	o.MaxNames = maxReceive / listedBytes
	return &Target{Server: xdsserve.New(o), queue: q, path: socket, receive: maxReceive}
}

// listedBytes is what a proxy that connects again needs to list a resource, with
// its version: hardly ever more.
const listedBytes = 256

// withRemedy adds what an operator can do about a stream that ended.
func withRemedy(e xdsserve.Event) xdsserve.Event {
	if e.Exhausted {
		e.Message += "; raise --xds-max-receive-bytes"
	}
	return e
}

// Start listens on the socket, which only this user may open.
func (t *Target) Start(ctx context.Context) error {
	if err := os.Remove(t.path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("xds socket %s: %w", t.path, err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", t.path)
	if err != nil {
		return fmt.Errorf("xds socket %s: %w", t.path, err)
	}
	if err := os.Chmod(t.path, 0o600); err != nil {
		return fmt.Errorf("xds socket %s: %w", t.path, err)
	}
	t.grpc = grpc.NewServer(xdsserve.ServerOptions(t.receive)...)
	discovery_v3.RegisterAggregatedDiscoveryServiceServer(t.grpc, t.Server)
	t.listener = listener
	return nil
}

// Run serves until Stop, or until ctx ends.
func (t *Target) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, t.grpc.Stop)
	defer stop()
	return t.grpc.Serve(t.listener)
}

// Stop ends all streams and removes the socket.
func (t *Target) Stop(context.Context) error {
	t.Close()
	t.grpc.Stop()
	return nil
}

// Events is signalled when Take has something to return.
func (t *Target) Events() <-chan struct{} { return t.queue.signal }

// Take returns what proxies answered since the last Take, in order per proxy.
func (t *Target) Take() []xdsserve.Event { return t.queue.take() }
