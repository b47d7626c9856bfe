package host

import (
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_fault_common_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	envoy_fault_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	envoy_router_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discovery_v3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	envoy_type_v3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

const testPort = 21080

type resource = xdsserve.Resource

// made returns a resource as Gatehouse would publish it.
func made(name string, m proto.Message, uses ...xdsserve.Name) resource {
	body := packed(m)
	return resource{
		Name: xdsserve.Name{Type: xdsserve.Type(body.GetTypeUrl()), Name: name}, Group: string(edge),
		Body: body.GetValue(), Version: shortHash(string(body.GetValue()), 8), Uses: uses,
	}
}

func packed(m proto.Message) *anypb.Any {
	body, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return body
}

// ads is a control plane with fixed resources on a Unix socket.
type ads struct {
	server *xdsserve.Server
	grpc   *grpc.Server
	done   sync.WaitGroup
	// sent counts the resources that were sent.
	sent atomic.Int64
}

func serveADS(socket string, resources []resource) (*ads, error) {
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	a := &ads{grpc: grpc.NewServer()}
	a.server = xdsserve.New(xdsserve.Options{Observe: func(e xdsserve.Event) {
		if e.Kind == xdsserve.Sent {
			a.sent.Add(int64(len(e.Names)))
		}
	}})
	if len(resources) > 0 {
		a.server.Publish(xdsserve.Update{Set: resources})
	}
	discovery_v3.RegisterAggregatedDiscoveryServiceServer(a.grpc, a.server)
	a.done.Go(func() { _ = a.grpc.Serve(listener) })
	return a, nil
}

func (a *ads) stop() {
	a.server.Close()
	a.grpc.Stop()
	a.done.Wait()
}

// httpListener answers on testPort of an address.
func httpListener(name, address string, routes []*envoy_route_v3.Route, filters ...*envoy_hcm_v3.HttpFilter) resource {
	return listener(name, address, routes, nil, filters)
}

func listener(name, address string, routes []*envoy_route_v3.Route, tls *envoy_core_v3.TransportSocket, filters []*envoy_hcm_v3.HttpFilter, uses ...xdsserve.Name) resource {
	router := &envoy_hcm_v3.HttpFilter{Name: "router", ConfigType: &envoy_hcm_v3.HttpFilter_TypedConfig{TypedConfig: packed(&envoy_router_v3.Router{})}}
	manager := &envoy_hcm_v3.HttpConnectionManager{
		StatPrefix:  name,
		HttpFilters: append(filters, router),
		RouteSpecifier: &envoy_hcm_v3.HttpConnectionManager_RouteConfig{RouteConfig: &envoy_route_v3.RouteConfiguration{
			VirtualHosts: []*envoy_route_v3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: routes}},
		}},
	}
	return made(name, &envoy_listener_v3.Listener{
		Name:            name,
		EnableReusePort: wrapperspb.Bool(false),
		Address: &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
			Address: address, PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: testPort},
		}}},
		FilterChains: []*envoy_listener_v3.FilterChain{{
			TransportSocket: tls,
			Filters: []*envoy_listener_v3.Filter{{
				Name:       "http",
				ConfigType: &envoy_listener_v3.Filter_TypedConfig{TypedConfig: packed(manager)},
			}},
		}},
	}, uses...)
}

// direct answers every request with a body. Its first route has a regular
// expression larger than Envoy takes by default.
func direct(body string) []*envoy_route_v3.Route {
	answer := func(text string) *envoy_route_v3.Route_DirectResponse {
		return &envoy_route_v3.Route_DirectResponse{DirectResponse: &envoy_route_v3.DirectResponseAction{
			Status: 200,
			Body:   &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineString{InlineString: text}},
		}}
	}
	large := &envoy_matcher_v3.RegexMatcher{Regex: "/(" + strings.Repeat("[a-z]{20}|", 40) + "x)"}
	return []*envoy_route_v3.Route{
		{Match: &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_SafeRegex{SafeRegex: large}}, Action: answer("regex")},
		{Match: &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_Prefix{Prefix: "/"}}, Action: answer(body)},
	}
}

// delayed holds each request for so long.
func delayed(d time.Duration) *envoy_hcm_v3.HttpFilter {
	return &envoy_hcm_v3.HttpFilter{Name: "delay", ConfigType: &envoy_hcm_v3.HttpFilter_TypedConfig{TypedConfig: packed(&envoy_fault_v3.HTTPFault{
		Delay: &envoy_fault_common_v3.FaultDelay{
			FaultDelaySecifier: &envoy_fault_common_v3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(d)},
			Percentage:         &envoy_type_v3.FractionalPercent{Numerator: 100},
		},
	})}}
}

// tlsListener serves a certificate that comes by SDS.
func tlsListener(name, address, secret string) resource {
	ads := &envoy_core_v3.ConfigSource{
		ConfigSourceSpecifier: &envoy_core_v3.ConfigSource_Ads{Ads: &envoy_core_v3.AggregatedConfigSource{}},
		ResourceApiVersion:    envoy_core_v3.ApiVersion_V3,
	}
	context := &envoy_tls_v3.DownstreamTlsContext{CommonTlsContext: &envoy_tls_v3.CommonTlsContext{
		TlsCertificateSdsSecretConfigs: []*envoy_tls_v3.SdsSecretConfig{{Name: secret, SdsConfig: ads}},
	}}
	return listener(name, address, direct("hello"), &envoy_core_v3.TransportSocket{
		Name:       "tls",
		ConfigType: &envoy_core_v3.TransportSocket_TypedConfig{TypedConfig: packed(context)},
	}, nil, xdsserve.Name{Type: xdsserve.Secret, Name: secret})
}

func secret(name string, chain, key []byte) resource {
	inline := func(data []byte) *envoy_core_v3.DataSource {
		return &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineBytes{InlineBytes: data}}
	}
	return made(name, &envoy_tls_v3.Secret{Name: name, Type: &envoy_tls_v3.Secret_TlsCertificate{
		TlsCertificate: &envoy_tls_v3.TlsCertificate{CertificateChain: inline(chain), PrivateKey: inline(key)},
	}})
}
