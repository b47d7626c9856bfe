package envoy

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/pkg/wholefile"
)

// feed is how Envoy gets its endpoints.
type feed interface {
	// start prepares what Envoy needs to start without a backend.
	start(ctx context.Context) error
	update(ctx context.Context, addresses []string) error
	// processes are those that the feed consists of.
	processes() []*proxy.Process
	stop(ctx context.Context) error
}

// fileFeed is a file of endpoints in a directory that Envoy watches.
type fileFeed struct {
	dir     string
	version int
}

func newFileFeed(dir string) *fileFeed { return &fileFeed{dir: filepath.Join(dir, "endpoints")} }

func (f *fileFeed) path() string { return filepath.Join(f.dir, "endpoints.json") }

func (f *fileFeed) start(ctx context.Context) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of endpoints: %w", err)
	}
	return f.update(ctx, nil)
}

// update renames a new file into the place of the old one, which is what Envoy asks
// for: it would read a file that is being written.
func (f *fileFeed) update(_ context.Context, addresses []string) error {
	content, err := f.response(addresses)
	if err != nil {
		return err
	}
	if err := wholefile.Replace(f.path(), content); err != nil {
		return fmt.Errorf("write the endpoints: %w", err)
	}
	return nil
}

func (f *fileFeed) response(addresses []string) ([]byte, error) {
	endpoints, err := assignment(addresses)
	if err != nil {
		return nil, err
	}
	resource, err := anypb.New(endpoints)
	if err != nil {
		return nil, err
	}
	f.version++
	return protojson.Marshal(&discovery_v3.DiscoveryResponse{
		VersionInfo: strconv.Itoa(f.version), Resources: []*anypb.Any{resource},
	})
}

func (f *fileFeed) processes() []*proxy.Process { return nil }

func (f *fileFeed) stop(context.Context) error { return nil }

// assignment makes addresses the endpoints of the cluster.
func assignment(addresses []string) (*envoy_endpoint_v3.ClusterLoadAssignment, error) {
	endpoints := make([]*envoy_endpoint_v3.LbEndpoint, 0, len(addresses))
	for _, address := range addresses {
		endpoints = append(endpoints, &envoy_endpoint_v3.LbEndpoint{
			HostIdentifier: &envoy_endpoint_v3.LbEndpoint_Endpoint{Endpoint: &envoy_endpoint_v3.Endpoint{
				Address: &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{
					SocketAddress: &envoy_core_v3.SocketAddress{
						Address:       address,
						PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: proxy.BackendPort},
					},
				}},
			}},
		})
	}
	out := &envoy_endpoint_v3.ClusterLoadAssignment{
		ClusterName: cluster, Endpoints: []*envoy_endpoint_v3.LocalityLbEndpoints{{LbEndpoints: endpoints}},
	}
	if err := out.ValidateAll(); err != nil {
		return nil, fmt.Errorf("endpoints %q: %w", addresses, err)
	}
	return out, nil
}
