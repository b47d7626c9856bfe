package envoy

import (
	"net/netip"
	"time"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	envoy_dnscommon_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/common/dns/v3"
	envoy_dns_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	envoy_cares_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// How names are resolved. Each name server is asked once for each address
// family, and again soon after a failure: a name server that does not answer is
// then given up after 2 s. Envoy begins nothing else before its first names are
// resolved or given up, and holds other new clusters back meanwhile.
const (
	dnsTryTimeout = 1 // seconds
	dnsTries      = 1
	dnsRetryFirst = 500 * time.Millisecond
	dnsRetryMax   = 10 * time.Second
)

// resolve gives a cluster the addresses of a host name, each an endpoint of its
// own, for as long as the name server says.
func resolve(out *envoy_cluster_v3.Cluster, c model.Cluster) error {
	if _, err := netip.ParseAddr(c.Host); err != nil {
		if err := checkHostname("host", c.Host, false); err != nil {
			return err
		}
	}
	if c.Port == 0 {
		return faultf("port", "0", "a host name needs a port between 1 and 65535")
	}
	resolver, err := extension("envoy.network.dns_resolver.cares", &envoy_cares_v3.CaresDnsResolverConfig{
		QueryTimeoutSeconds: wrapperspb.UInt64(dnsTryTimeout),
		QueryTries:          wrapperspb.UInt32(dnsTries),
	})
	if err != nil {
		return err
	}
	config, err := pack(&envoy_dns_v3.DnsCluster{
		RespectDnsTtl:   true,
		DnsLookupFamily: envoy_dnscommon_v3.DnsLookupFamily_V4_PREFERRED,
		DnsFailureRefreshRate: &envoy_dns_v3.DnsCluster_RefreshRate{
			BaseInterval: durationpb.New(dnsRetryFirst), MaxInterval: durationpb.New(dnsRetryMax),
		},
		TypedDnsResolverConfig: resolver,
	})
	if err != nil {
		return err
	}
	out.ClusterDiscoveryType = &envoy_cluster_v3.Cluster_ClusterType{ClusterType: &envoy_cluster_v3.Cluster_CustomClusterType{
		Name: "envoy.clusters.dns", TypedConfig: config,
	}}
	out.LoadAssignment = namedAssignment(c)
	return nil
}

func namedAssignment(c model.Cluster) *envoy_endpoint_v3.ClusterLoadAssignment {
	at := &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
		Address:       c.Host,
		PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: uint32(c.Port)},
	}}}
	return &envoy_endpoint_v3.ClusterLoadAssignment{
		ClusterName: string(c.ID),
		Endpoints:   []*envoy_endpoint_v3.LocalityLbEndpoints{{LbEndpoints: []*envoy_endpoint_v3.LbEndpoint{lbEndpoint(at)}}},
	}
}

func lbEndpoint(at *envoy_core_v3.Address) *envoy_endpoint_v3.LbEndpoint {
	return &envoy_endpoint_v3.LbEndpoint{HostIdentifier: &envoy_endpoint_v3.LbEndpoint_Endpoint{
		Endpoint: &envoy_endpoint_v3.Endpoint{Address: at},
	}}
}
