package host

import (
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_router_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const subscriberName = "gatehouse_scopes"

// subscriber is a listener that takes no connections and only looks routes up by
// scope. All listeners share one subscription to scopes. A listener that finds it
// there does not wait for its scopes, and answers 404 until they come; with a
// subscription from the first moment on, scopes can always be sent before their
// listener. Its source must be the same message as that of other listeners.
func subscriber() (*envoy_listener_v3.Listener, error) {
	router, err := anypb.New(&envoy_router_v3.Router{})
	if err != nil {
		return nil, err
	}
	manager, err := anypb.New(&envoy_hcm_v3.HttpConnectionManager{
		StatPrefix:     subscriberName,
		RouteSpecifier: &envoy_hcm_v3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: everyScope()},
		HttpFilters: []*envoy_hcm_v3.HttpFilter{{
			Name: "envoy.filters.http.router", ConfigType: &envoy_hcm_v3.HttpFilter_TypedConfig{TypedConfig: router},
		}},
	})
	if err != nil {
		return nil, err
	}
	return &envoy_listener_v3.Listener{
		Name: subscriberName, BindToPort: wrapperspb.Bool(false), Address: nowhere(),
		FilterChains: []*envoy_listener_v3.FilterChain{{Filters: []*envoy_listener_v3.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &envoy_listener_v3.Filter_TypedConfig{TypedConfig: manager},
		}}}},
	}, nil
}

// nowhere is an address that is never bound. It is no pipe, because Envoy binds
// those whatever a listener says.
func nowhere() *envoy_core_v3.Address {
	return &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: 1},
	}}}
}

func everyScope() *envoy_hcm_v3.ScopedRoutes {
	source := &envoy_core_v3.ConfigSource{
		ConfigSourceSpecifier: &envoy_core_v3.ConfigSource_Ads{Ads: &envoy_core_v3.AggregatedConfigSource{}},
		ResourceApiVersion:    envoy_core_v3.ApiVersion_V3,
	}
	unused := &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
		Name: ":authority", ElementSeparator: "",
		ExtractType: &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
	}
	return &envoy_hcm_v3.ScopedRoutes{
		Name: "scopes",
		ScopeKeyBuilder: &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
			Type: &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{HeaderValueExtractor: unused},
		}}},
		RdsConfigSource: proto.CloneOf(source),
		ConfigSpecifier: &envoy_hcm_v3.ScopedRoutes_ScopedRds{ScopedRds: &envoy_hcm_v3.ScopedRds{ScopedRdsConfigSource: source}},
	}
}
