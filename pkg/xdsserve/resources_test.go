package xdsserve_test

import (
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	router_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// resource wraps a message as the translator would.
func resource(t testing.TB, typ xdsserve.Type, name string, m proto.Message, uses ...xdsserve.Name) xdsserve.Resource {
	t.Helper()
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	must(t, err)
	h := fnv.New64a()
	h.Write(body)
	return xdsserve.Resource{
		Name: xdsserve.Name{Type: typ, Name: name}, Group: group, Body: body,
		Version: fmt.Sprintf("%x", h.Sum64()), Uses: uses, Origins: []string{"origin of " + name},
	}
}

func names(typ xdsserve.Type, names ...string) []xdsserve.Name {
	var all []xdsserve.Name
	for _, n := range names {
		all = append(all, xdsserve.Name{Type: typ, Name: n})
	}
	return all
}

func ads() *envoy_core_v3.ConfigSource {
	return &envoy_core_v3.ConfigSource{
		ResourceApiVersion:    envoy_core_v3.ApiVersion_V3,
		ConfigSourceSpecifier: &envoy_core_v3.ConfigSource_Ads{Ads: &envoy_core_v3.AggregatedConfigSource{}},
	}
}

func anyOf(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	must(t, err)
	return a
}

func edsCluster(name string) *envoy_cluster_v3.Cluster {
	return &envoy_cluster_v3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_EDS},
		EdsClusterConfig:     &envoy_cluster_v3.Cluster_EdsClusterConfig{EdsConfig: ads()},
		ConnectTimeout:       durationpb.New(time.Second),
	}
}

// cluster returns an EDS cluster and its endpoint.
func cluster(t testing.TB, name string, port int) []xdsserve.Resource {
	t.Helper()
	return []xdsserve.Resource{
		resource(t, xdsserve.Cluster, name, edsCluster(name), names(xdsserve.Endpoints, name)...),
		eds(t, name, port),
	}
}

func loopback(port int) *envoy_core_v3.Address {
	return &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

func assignment(name string, at ...*envoy_core_v3.Address) *envoy_endpoint_v3.ClusterLoadAssignment {
	lb := &envoy_endpoint_v3.LocalityLbEndpoints{}
	for _, a := range at {
		lb.LbEndpoints = append(lb.LbEndpoints, &envoy_endpoint_v3.LbEndpoint{
			HostIdentifier: &envoy_endpoint_v3.LbEndpoint_Endpoint{Endpoint: &envoy_endpoint_v3.Endpoint{Address: a}},
		})
	}
	return &envoy_endpoint_v3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*envoy_endpoint_v3.LocalityLbEndpoints{lb}}
}

func eds(t testing.TB, name string, ports ...int) xdsserve.Resource {
	t.Helper()
	var at []*envoy_core_v3.Address
	for _, p := range ports {
		at = append(at, loopback(p))
	}
	return resource(t, xdsserve.Endpoints, name, assignment(name, at...))
}

func prefixRoute(prefix, cluster string) *envoy_route_v3.Route {
	return &envoy_route_v3.Route{
		Match: &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_Prefix{Prefix: prefix}},
		Action: &envoy_route_v3.Route_Route{Route: &envoy_route_v3.RouteAction{
			ClusterSpecifier: &envoy_route_v3.RouteAction_Cluster{Cluster: cluster},
		}},
	}
}

// table returns a route table that sends everything to the first cluster; the
// others are reached under /<name>.
func table(t testing.TB, name string, clusters ...string) xdsserve.Resource {
	t.Helper()
	vh := &envoy_route_v3.VirtualHost{Name: "all", Domains: []string{"*"}}
	for _, c := range clusters[1:] {
		vh.Routes = append(vh.Routes, prefixRoute("/"+c, c))
	}
	vh.Routes = append(vh.Routes, prefixRoute("/", clusters[0]))
	rc := &envoy_route_v3.RouteConfiguration{Name: name, VirtualHosts: []*envoy_route_v3.VirtualHost{vh}}
	return resource(t, xdsserve.Routes, name, rc, names(xdsserve.Cluster, clusters...)...)
}

// badTable lists a domain twice, which Envoy refuses.
func badTable(t testing.TB, name string, clusters ...string) xdsserve.Resource {
	t.Helper()
	rc := &envoy_route_v3.RouteConfiguration{Name: name, VirtualHosts: []*envoy_route_v3.VirtualHost{{
		Name: "all", Domains: []string{"["}, Routes: []*envoy_route_v3.Route{prefixRoute("/", clusters[0])},
	}, {Name: "all", Domains: []string{"["}}}}
	return resource(t, xdsserve.Routes, name, rc, names(xdsserve.Cluster, clusters...)...)
}

func hcm(t testing.TB, table, stat string) *hcm_v3.HttpConnectionManager {
	t.Helper()
	return &hcm_v3.HttpConnectionManager{
		StatPrefix: stat,
		RouteSpecifier: &hcm_v3.HttpConnectionManager_Rds{Rds: &hcm_v3.Rds{
			RouteConfigName: table, ConfigSource: ads(),
		}},
		HttpFilters: []*hcm_v3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcm_v3.HttpFilter_TypedConfig{TypedConfig: anyOf(t, &router_v3.Router{})},
		}},
	}
}

func listenerMessage(t testing.TB, name string, port int, table, stat string) *envoy_listener_v3.Listener {
	t.Helper()
	return &envoy_listener_v3.Listener{
		Name: name, Address: loopback(port),
		FilterChains: []*envoy_listener_v3.FilterChain{{Name: "http", Filters: []*envoy_listener_v3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &envoy_listener_v3.Filter_TypedConfig{TypedConfig: anyOf(t, hcm(t, table, stat))},
		}}}},
	}
}

// listener returns an HTTP listener with one route table; stat distinguishes versions.
func listener(t testing.TB, name string, port int, table, stat string) xdsserve.Resource {
	t.Helper()
	return resource(t, xdsserve.Listener, name, listenerMessage(t, name, port, table, stat),
		names(xdsserve.Routes, table)...)
}

func concat(groups ...[]xdsserve.Resource) []xdsserve.Resource {
	var all []xdsserve.Resource
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}
