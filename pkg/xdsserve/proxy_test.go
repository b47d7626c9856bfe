package xdsserve_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	status_v3 "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// hall is a Server in memory, for proxies that no real Envoy would be.
type hall struct {
	*xdsserve.Server
	t    *testing.T
	log  *eventLog
	conn *grpc.ClientConn
}

func newHall(t *testing.T, o xdsserve.Options) *hall {
	t.Helper()
	log := newEventLog(t)
	o.Observe = log.add
	h := serveHall(t, xdsserve.New(o))
	h.log = log
	return h
}

func serveHall(t *testing.T, s *xdsserve.Server) *hall {
	t.Helper()
	h := &hall{t: t, Server: s}
	l := bufconn.Listen(1 << 16)
	g := grpc.NewServer(xdsserve.ServerOptions(0)...)
	discovery_v3.RegisterAggregatedDiscoveryServiceServer(g, h.Server)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(l) })
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
	conn, err := grpc.NewClient("passthrough:///hall", grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	h.conn = conn
	t.Cleanup(func() {
		h.Close()
		conn.Close()
		g.Stop()
		serving.Wait()
	})
	return h
}

// settle waits until n proxies have answered everything up to seq.
func (h *hall) settle(seq uint64, n int) { (&rig{Server: h.Server, t: h.t, log: h.log}).settle(seq, n) }

// proxy is the test's end of a stream.
type proxy struct {
	t      *testing.T
	stream discovery_v3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
}

func (h *hall) connect() *proxy {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	h.t.Cleanup(cancel)
	s, err := discovery_v3.NewAggregatedDiscoveryServiceClient(h.conn).DeltaAggregatedResources(ctx)
	must(h.t, err)
	return &proxy{h.t, s}
}

// join connects a proxy of the group that asks for some types: wildcard types for
// everything, the others for the names.
func (h *hall) join(id string, typ xdsserve.Type, names ...string) *proxy {
	h.t.Helper()
	p := h.connect()
	p.send(&discovery_v3.DeltaDiscoveryRequest{
		Node: &envoy_core_v3.Node{Id: id, Cluster: group}, TypeUrl: string(typ), ResourceNamesSubscribe: names,
	})
	return p
}

func (p *proxy) send(r *discovery_v3.DeltaDiscoveryRequest) {
	p.t.Helper()
	must(p.t, p.stream.Send(r))
}

func (p *proxy) subscribe(typ xdsserve.Type, names ...string) {
	p.t.Helper()
	p.send(&discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(typ), ResourceNamesSubscribe: names})
}

func (p *proxy) unsubscribe(typ xdsserve.Type, names ...string) {
	p.t.Helper()
	p.send(&discovery_v3.DeltaDiscoveryRequest{TypeUrl: string(typ), ResourceNamesUnsubscribe: names})
}

// recv returns the next response.
func (p *proxy) recv() *discovery_v3.DeltaDiscoveryResponse {
	p.t.Helper()
	resp, err := p.stream.Recv()
	must(p.t, err)
	return resp
}

// expect returns the next response, which has to be of a type and carry names.
func (p *proxy) expect(typ xdsserve.Type, names ...string) *discovery_v3.DeltaDiscoveryResponse {
	p.t.Helper()
	resp := p.recv()
	if got := resourceNames(resp); resp.GetTypeUrl() != string(typ) || !slices.Equal(got, names) {
		p.t.Fatalf("got %s %q -%q, want %s %q", resp.GetTypeUrl(), got, resp.GetRemovedResources(), typ, names)
	}
	return resp
}

func resourceNames(resp *discovery_v3.DeltaDiscoveryResponse) []string {
	var names []string
	for _, r := range resp.GetResources() {
		names = append(names, r.GetName())
	}
	return names
}

func (p *proxy) ack(resp *discovery_v3.DeltaDiscoveryResponse) {
	p.t.Helper()
	p.send(&discovery_v3.DeltaDiscoveryRequest{TypeUrl: resp.GetTypeUrl(), ResponseNonce: resp.GetNonce()})
}

func nack(resp *discovery_v3.DeltaDiscoveryResponse, message string) *discovery_v3.DeltaDiscoveryRequest {
	return &discovery_v3.DeltaDiscoveryRequest{
		TypeUrl: resp.GetTypeUrl(), ResponseNonce: resp.GetNonce(), ErrorDetail: &status_v3.Status{Message: message},
	}
}

// fake returns a resource with an arbitrary body.
func fake(typ xdsserve.Type, name, body string, uses ...xdsserve.Name) xdsserve.Resource {
	return xdsserve.Resource{
		Name: xdsserve.Name{Type: typ, Name: name}, Group: group, Body: []byte(body), Version: body, Uses: uses,
	}
}
