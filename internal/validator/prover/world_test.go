package prover_test

import (
	"fmt"
	"hash/fnv"

	xds_core_v3 "github.com/cncf/xds/go/xds/core/v3"
	xds_matcher_v3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_router_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	envoy_udp_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

const edge, other = "shop/edge", "shop/other"

// resource seals a message.
func resource(group string, t xdsserve.Type, name string, m proto.Message) xdsserve.Resource {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return sealed(group, t, name, body)
}

func sealed(group string, t xdsserve.Type, name string, body []byte) xdsserve.Resource {
	hash := fnv.New64a()
	_, _ = hash.Write(body)
	return xdsserve.Resource{Name: xdsserve.Name{Type: t, Name: name}, Group: group, Body: body, Version: fmt.Sprintf("%016x", hash.Sum64())}
}

func pack(m proto.Message) *anypb.Any {
	out, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return out
}

func ads() *envoy_core_v3.ConfigSource {
	return &envoy_core_v3.ConfigSource{
		ConfigSourceSpecifier: &envoy_core_v3.ConfigSource_Ads{Ads: &envoy_core_v3.AggregatedConfigSource{}},
		ResourceApiVersion:    envoy_core_v3.ApiVersion_V3,
	}
}

func at(address string, port int) *envoy_core_v3.Address {
	return &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
		Address: address, PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

// cluster has endpoints that are published on their own.
func cluster(group, name string, change ...func(*envoy_cluster_v3.Cluster)) xdsserve.Resource {
	c := &envoy_cluster_v3.Cluster{
		Name: name, ClusterDiscoveryType: &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_EDS},
		EdsClusterConfig: &envoy_cluster_v3.Cluster_EdsClusterConfig{EdsConfig: ads()},
	}
	for _, f := range change {
		f(c)
	}
	return resource(group, xdsserve.Cluster, name, c)
}

// badCluster is one that only Envoy knows to be wrong.
func badCluster(group, name string) xdsserve.Resource {
	return cluster(group, name, func(c *envoy_cluster_v3.Cluster) { c.LbPolicy = envoy_cluster_v3.Cluster_CLUSTER_PROVIDED })
}

func slowCluster(group, name string) xdsserve.Resource {
	return cluster(group, name, func(c *envoy_cluster_v3.Cluster) {
		c.ClusterDiscoveryType = &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_STRICT_DNS}
		c.EdsClusterConfig = nil
		c.LoadAssignment = &envoy_endpoint_v3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*envoy_endpoint_v3.LocalityLbEndpoints{{
			LbEndpoints: []*envoy_endpoint_v3.LbEndpoint{{HostIdentifier: &envoy_endpoint_v3.LbEndpoint_Endpoint{
				Endpoint: &envoy_endpoint_v3.Endpoint{Address: at("nowhere.invalid", 80)},
			}}},
		}}}
	})
}

// virtualHost answers a path of its own, or a regular expression's.
func virtualHost(domain, expression string) *envoy_route_v3.VirtualHost {
	match := &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_Prefix{Prefix: "/"}}
	if expression != "" {
		match.PathSpecifier = &envoy_route_v3.RouteMatch_SafeRegex{SafeRegex: &envoy_matcher_v3.RegexMatcher{Regex: expression}}
	}
	return &envoy_route_v3.VirtualHost{Name: domain, Domains: []string{domain}, Routes: []*envoy_route_v3.Route{{
		Match: match, Action: &envoy_route_v3.Route_Route{Route: &envoy_route_v3.RouteAction{
			ClusterSpecifier: &envoy_route_v3.RouteAction_Cluster{Cluster: "app"},
		}},
	}}}
}

// badExpression is one that RE2 refuses.
const badExpression = "("

// table has virtual hosts as parts.
func table(group, name string, hosts ...*envoy_route_v3.VirtualHost) xdsserve.Resource {
	encode := func(m proto.Message) []byte {
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			panic(err)
		}
		return body
	}
	body := encode(&envoy_route_v3.RouteConfiguration{Name: name})
	var parts []xdsserve.Part
	for _, h := range hosts {
		from := len(body)
		body = append(body, encode(&envoy_route_v3.RouteConfiguration{VirtualHosts: []*envoy_route_v3.VirtualHost{h}})...)
		parts = append(parts, xdsserve.Part{Name: h.GetName(), From: from, To: len(body)})
	}
	body = append(body, encode(&envoy_route_v3.RouteConfiguration{IgnorePortInHostMatching: true})...)
	out := sealed(group, xdsserve.Routes, name, body)
	out.Parts = parts
	return out
}

// scope is one host of a large table.
func scope(group, name string, host *envoy_route_v3.VirtualHost) xdsserve.Resource {
	return resource(group, xdsserve.Scopes, name, &envoy_route_v3.ScopedRouteConfiguration{
		Name: name, Key: &envoy_route_v3.ScopedRouteConfiguration_Key{Fragments: []*envoy_route_v3.ScopedRouteConfiguration_Key_Fragment{{
			Type: &envoy_route_v3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: name},
		}}},
		RouteConfiguration: &envoy_route_v3.RouteConfiguration{
			Name: name, VirtualHosts: []*envoy_route_v3.VirtualHost{host}, ValidateClusters: wrapperspb.Bool(false),
		},
	})
}

// listener serves a route table.
func listener(group, name, address string, port int, change ...func(*envoy_listener_v3.Listener)) xdsserve.Resource {
	manager := &envoy_hcm_v3.HttpConnectionManager{
		StatPrefix: "x", HttpFilters: []*envoy_hcm_v3.HttpFilter{{
			Name: "router", ConfigType: &envoy_hcm_v3.HttpFilter_TypedConfig{TypedConfig: pack(&envoy_router_v3.Router{})},
		}},
		RouteSpecifier: &envoy_hcm_v3.HttpConnectionManager_Rds{Rds: &envoy_hcm_v3.Rds{RouteConfigName: name, ConfigSource: ads()}},
	}
	l := &envoy_listener_v3.Listener{
		Name: name, Address: at(address, port), EnableReusePort: wrapperspb.Bool(false),
		FilterChains: []*envoy_listener_v3.FilterChain{{Filters: []*envoy_listener_v3.Filter{{
			Name: "hcm", ConfigType: &envoy_listener_v3.Filter_TypedConfig{TypedConfig: pack(manager)},
		}}}},
	}
	for _, f := range change {
		f(l)
	}
	return resource(group, xdsserve.Listener, name, l)
}

// ofDatagrams makes a listener one of UDP.
func ofDatagrams(l *envoy_listener_v3.Listener) {
	l.GetAddress().GetSocketAddress().Protocol = envoy_core_v3.SocketAddress_UDP
	l.EnableReusePort, l.FilterChains = wrapperspb.Bool(true), nil
	l.UdpListenerConfig = &envoy_listener_v3.UdpListenerConfig{}
	l.ListenerFilters = []*envoy_listener_v3.ListenerFilter{{
		Name: "udp", ConfigType: &envoy_listener_v3.ListenerFilter_TypedConfig{TypedConfig: pack(&envoy_udp_v3.UdpProxyConfig{
			StatPrefix: "x", RouteSpecifier: &envoy_udp_v3.UdpProxyConfig_Matcher{Matcher: &xds_matcher_v3.Matcher{
				OnNoMatch: &xds_matcher_v3.Matcher_OnMatch{OnMatch: &xds_matcher_v3.Matcher_OnMatch_Action{Action: &xds_core_v3.TypedExtensionConfig{
					Name: "route", TypedConfig: pack(&envoy_udp_v3.Route{Cluster: "app"}),
				}}},
			}},
		})},
	}}
}

// withCertificate makes a listener one of TLS.
func withCertificate(secret string) func(*envoy_listener_v3.Listener) {
	return func(l *envoy_listener_v3.Listener) {
		l.GetFilterChains()[0].TransportSocket = &envoy_core_v3.TransportSocket{
			Name: "tls", ConfigType: &envoy_core_v3.TransportSocket_TypedConfig{TypedConfig: pack(&envoy_tls_v3.DownstreamTlsContext{
				CommonTlsContext: &envoy_tls_v3.CommonTlsContext{
					TlsCertificateSdsSecretConfigs: []*envoy_tls_v3.SdsSecretConfig{{Name: secret, SdsConfig: ads()}},
				},
			})},
		}
	}
}

func secret(group, name string, chain, key []byte) xdsserve.Resource {
	inline := func(b []byte) *envoy_core_v3.DataSource {
		return &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineBytes{InlineBytes: b}}
	}
	return resource(group, xdsserve.Secret, name, &envoy_tls_v3.Secret{Name: name, Type: &envoy_tls_v3.Secret_TlsCertificate{
		TlsCertificate: &envoy_tls_v3.TlsCertificate{CertificateChain: inline(chain), PrivateKey: inline(key)},
	}})
}

// nobody has no endpoints.
func nobody(cluster string) *envoy_endpoint_v3.ClusterLoadAssignment {
	return &envoy_endpoint_v3.ClusterLoadAssignment{ClusterName: cluster}
}
