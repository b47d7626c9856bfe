package xds_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/internal/publish/xds"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// serve runs a Target that takes requests of so many bytes, and returns a way to
// open streams to it.
func serve(t *testing.T, maxReceive int) (*xds.Target, discovery_v3.AggregatedDiscoveryServiceClient) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	target := xds.New(socket, maxReceive, xdsserve.Options{})
	must(t, target.Start(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { _ = target.Run(context.WithoutCancel(t.Context())) })
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = target.Stop(context.WithoutCancel(t.Context()))
		running.Wait()
	})
	return target, discovery_v3.NewAggregatedDiscoveryServiceClient(conn)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until takes events until one matches, and returns all that were taken.
func until(t *testing.T, target *xds.Target, match func(xdsserve.Event) bool) []xdsserve.Event {
	t.Helper()
	var all []xdsserve.Event
	for deadline := time.After(patience); ; {
		select {
		case <-target.Events():
		case <-deadline:
			t.Fatalf("not in %v; events: %+v", patience, all)
		}
		for _, e := range target.Take() {
			if all = append(all, e); match(e) {
				return all
			}
		}
	}
}

// scopesOf returns n resources with names of a length, and the request of a proxy
// that connects again and has them.
func scopesOf(n, length int) ([]xdsserve.Resource, *discovery_v3.DeltaDiscoveryRequest) {
	var rs []xdsserve.Resource
	again := &discovery_v3.DeltaDiscoveryRequest{
		Node: &envoy_core_v3.Node{Id: "p", Cluster: "edge"}, TypeUrl: string(xdsserve.Scopes),
		InitialResourceVersions: map[string]string{},
	}
	for i := range n {
		name := fmt.Sprintf("x/%0*d", length-2, i)
		version := fmt.Sprintf("%016x", i)
		again.InitialResourceVersions[name] = version
		rs = append(rs, xdsserve.Resource{
			Name: xdsserve.Name{Type: xdsserve.Scopes, Name: name}, Group: "edge", Version: version, Body: []byte(version),
		})
	}
	return rs, again
}

// A proxy that connects again lists all that it has in one request: 40,000 resources
// in more than 64 MiB here. It is taken, and nothing is sent for it.
func TestLargestRequest(t *testing.T) {
	target, client := serve(t, 80<<20)
	rs, again := scopesOf(40_000, 1700)
	if size := proto.Size(again); size < 64<<20 {
		t.Fatalf("the request has %d bytes", size)
	}
	seq := target.Publish(xdsserve.Update{Set: rs})
	stream, err := client.DeltaAggregatedResources(t.Context())
	must(t, err)
	must(t, stream.Send(again))
	events := until(t, target, func(e xdsserve.Event) bool { return e.Kind == xdsserve.Settled && e.Seq == seq })
	for _, e := range events {
		if e.Kind == xdsserve.Sent {
			t.Errorf("%d resources sent, %d bytes", len(e.Names)+len(e.Removed), e.Bytes)
		}
	}
	if st := target.Standing("edge", rs[39_999].Name); st.Acknowledged != 1 {
		t.Errorf("%+v, want it acknowledged", st)
	}
}

// A request that is larger ends the stream, and says what to do.
func TestRequestThatIsTooLarge(t *testing.T) {
	target, client := serve(t, 4<<20)
	for name, length := range map[string]int{"in bytes": 1700, "in names": 30} {
		t.Run(name, func(t *testing.T) {
			stream, err := client.DeltaAggregatedResources(t.Context())
			must(t, err)
			_, again := scopesOf(40_000, length)
			_ = stream.Send(again) // it may be refused before it is sent whole
			if _, err := stream.Recv(); err == nil {
				t.Fatal("it was answered")
			}
			until(t, target, func(e xdsserve.Event) bool {
				return e.Exhausted && strings.HasSuffix(e.Message, "raise --xds-max-receive-bytes")
			})
		})
	}
}
