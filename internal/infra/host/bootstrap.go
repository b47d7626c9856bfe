package host

import (
	"time"

	envoy_bootstrap_v3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_metrics_v3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	envoy_overload_v3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	envoy_connections_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	envoy_upstreams_http_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// xdsCluster is the bootstrap's own cluster: Gatehouse.
const xdsCluster = "gatehouse_xds"

// identity is what a bootstrap is made from.
type identity struct {
	gateway     model.GatewayID
	node        string
	adminSocket string
	xdsSocket   string
	// connections limits the downstream connections of the process.
	connections int64
	// statistics are beginnings of names of statistics to keep.
	statistics []string
}

// bootstrap returns the configuration that Envoy starts with: who it is, where
// Gatehouse is, and nothing that Gatehouse would want to change later.
func bootstrap(id identity) (*envoy_bootstrap_v3.Bootstrap, error) {
	cluster, err := adsCluster(id.xdsSocket)
	if err != nil {
		return nil, err
	}
	limits, err := connectionLimit(id.connections)
	if err != nil {
		return nil, err
	}
	scopes, err := subscriber()
	if err != nil {
		return nil, err
	}
	// Envoy's default of 100 refuses ordinary regular expressions; RE2's own memory limit still holds.
	runtime, err := structpb.NewStruct(map[string]any{"re2.max_program_size.error_level": model.MaxProgramSize})
	if err != nil {
		return nil, err
	}
	return &envoy_bootstrap_v3.Bootstrap{
		Node:             &envoy_core_v3.Node{Id: id.node, Cluster: string(id.gateway)},
		Admin:            &envoy_bootstrap_v3.Admin{Address: pipe(id.adminSocket, 0o600), IgnoreGlobalConnLimit: true},
		DynamicResources: dynamicResources(),
		StaticResources: &envoy_bootstrap_v3.Bootstrap_StaticResources{
			Clusters:  []*envoy_cluster_v3.Cluster{cluster},
			Listeners: []*envoy_listener_v3.Listener{scopes},
		},
		OverloadManager: limits,
		// Nobody reads statistics but through the admin interface.
		StatsFlush:  &envoy_bootstrap_v3.Bootstrap_StatsFlushOnAdmin{StatsFlushOnAdmin: true},
		StatsConfig: &envoy_metrics_v3.StatsConfig{StatsMatcher: keptStats(id.statistics)},
		LayeredRuntime: &envoy_bootstrap_v3.LayeredRuntime{Layers: []*envoy_bootstrap_v3.RuntimeLayer{{
			Name:           "gatehouse",
			LayerSpecifier: &envoy_bootstrap_v3.RuntimeLayer_StaticLayer{StaticLayer: runtime},
		}}},
	}, nil
}

// dynamicResources takes everything from one delta stream. An Envoy that has
// got no configuration yet waits for it instead of going live with nothing.
func dynamicResources() *envoy_bootstrap_v3.Bootstrap_DynamicResources {
	ads := func() *envoy_core_v3.ConfigSource {
		return &envoy_core_v3.ConfigSource{
			ConfigSourceSpecifier: &envoy_core_v3.ConfigSource_Ads{Ads: &envoy_core_v3.AggregatedConfigSource{}},
			ResourceApiVersion:    envoy_core_v3.ApiVersion_V3,
			InitialFetchTimeout:   durationpb.New(0),
		}
	}
	return &envoy_bootstrap_v3.Bootstrap_DynamicResources{
		CdsConfig: ads(),
		LdsConfig: ads(),
		AdsConfig: &envoy_core_v3.ApiConfigSource{
			ApiType:                   envoy_core_v3.ApiConfigSource_DELTA_GRPC,
			TransportApiVersion:       envoy_core_v3.ApiVersion_V3,
			SetNodeOnFirstMessageOnly: true,
			GrpcServices: []*envoy_core_v3.GrpcService{{
				TargetSpecifier: &envoy_core_v3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &envoy_core_v3.GrpcService_EnvoyGrpc{
					ClusterName: xdsCluster,
					RetryPolicy: reconnect(),
				}},
			}},
		},
	}
}

// reconnect is quick: the stream is local, and a restarted Gatehouse has changes to tell.
func reconnect() *envoy_core_v3.RetryPolicy {
	return &envoy_core_v3.RetryPolicy{RetryBackOff: &envoy_core_v3.BackoffStrategy{
		BaseInterval: durationpb.New(50 * time.Millisecond),
		MaxInterval:  durationpb.New(time.Second),
	}}
}

func adsCluster(socket string) (*envoy_cluster_v3.Cluster, error) {
	options, err := anypb.New(&envoy_upstreams_http_v3.HttpProtocolOptions{
		UpstreamProtocolOptions: &envoy_upstreams_http_v3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &envoy_upstreams_http_v3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &envoy_upstreams_http_v3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &envoy_core_v3.Http2ProtocolOptions{},
				},
			},
		},
	})
	if err != nil {
		return nil, err
	}
	endpoint := &envoy_endpoint_v3.LbEndpoint{HostIdentifier: &envoy_endpoint_v3.LbEndpoint_Endpoint{
		Endpoint: &envoy_endpoint_v3.Endpoint{Address: pipe(socket, 0)},
	}}
	return &envoy_cluster_v3.Cluster{
		Name:                 xdsCluster,
		ClusterDiscoveryType: &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_STATIC},
		ConnectTimeout:       durationpb.New(time.Second),
		LoadAssignment: &envoy_endpoint_v3.ClusterLoadAssignment{
			ClusterName: xdsCluster,
			Endpoints:   []*envoy_endpoint_v3.LocalityLbEndpoints{{LbEndpoints: []*envoy_endpoint_v3.LbEndpoint{endpoint}}},
		},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options,
		},
	}, nil
}

// keptStats are the statistics that are made at all: those that are read here, and
// those that somebody asks for. Per-cluster ones dominate cold start and memory; the
// numbers of ejected hosts are kept where a cluster has them because Envoy itself
// reads them back.
func keptStats(wanted []string) *envoy_metrics_v3.StatsMatcher {
	var patterns []*envoy_matcher_v3.StringMatcher
	for _, prefix := range append([]string{"listener_manager.", "cluster_manager.", "control_plane.", "server."}, wanted...) {
		patterns = append(patterns, &envoy_matcher_v3.StringMatcher{MatchPattern: &envoy_matcher_v3.StringMatcher_Prefix{Prefix: prefix}})
	}
	for _, suffix := range []string{connectionsActive, requestsActive, ".outlier_detection.ejections_active"} {
		patterns = append(patterns, &envoy_matcher_v3.StringMatcher{MatchPattern: &envoy_matcher_v3.StringMatcher_Suffix{Suffix: suffix}})
	}
	return &envoy_metrics_v3.StatsMatcher{StatsMatcher: &envoy_metrics_v3.StatsMatcher_InclusionList{
		InclusionList: &envoy_matcher_v3.ListStringMatcher{Patterns: patterns},
	}}
}

func connectionLimit(connections int64) (*envoy_overload_v3.OverloadManager, error) {
	config, err := anypb.New(&envoy_connections_v3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: connections})
	if err != nil {
		return nil, err
	}
	return &envoy_overload_v3.OverloadManager{ResourceMonitors: []*envoy_overload_v3.ResourceMonitor{{
		Name:       "envoy.resource_monitors.global_downstream_max_connections",
		ConfigType: &envoy_overload_v3.ResourceMonitor_TypedConfig{TypedConfig: config},
	}}}, nil
}

func pipe(path string, mode uint32) *envoy_core_v3.Address {
	return &envoy_core_v3.Address{Address: &envoy_core_v3.Address_Pipe{Pipe: &envoy_core_v3.Pipe{Path: path, Mode: mode}}}
}
