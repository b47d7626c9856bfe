package envoy

import (
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_udp_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/udp/udp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

const (
	// udpIdle is how long the datagrams of one client, its address and port, go to the
	// endpoint that the first of them went to, after the last one in either direction.
	// It is Envoy's own; every client holds a socket for as long.
	udpIdle = time.Minute
	// udpSessions bounds the clients of one backend at a time, as whoever writes a
	// sender's address can make them up: each takes an open file of the proxy.
	udpSessions = 1 << 16
	// maxDatagram is what no datagram exceeds; Envoy would drop those above 1,500 bytes.
	maxDatagram = 65535
)

// datagrams makes a UDP port. It has no chains, and shares its port among Envoy's
// workers: each has a socket of its own, and Envoy refuses to do without.
func (b *listenerBuilder) datagrams(l model.Listener) error {
	b.listener.GetAddress().GetSocketAddress().Protocol = envoy_core_v3.SocketAddress_UDP
	b.listener.EnableReusePort = wrapperspb.Bool(true)
	b.listener.PerConnectionBufferLimitBytes = nil
	b.listener.UdpListenerConfig = &envoy_listener_v3.UdpListenerConfig{DownstreamSocketConfig: udpSocket()}
	filter, err := b.udpProxy(l.Stream)
	if err != nil {
		return within("stream", err)
	}
	b.listener.ListenerFilters = []*envoy_listener_v3.ListenerFilter{filter}
	return nil
}

func udpSocket() *envoy_core_v3.UdpSocketConfig {
	return &envoy_core_v3.UdpSocketConfig{MaxRxDatagramSize: wrapperspb.UInt64(maxDatagram)}
}

// udpProxy passes datagrams on, and answers back. Those without a backend, and the
// share of a missing one, are dropped.
func (b *listenerBuilder) udpProxy(to *model.Forward) (*envoy_listener_v3.ListenerFilter, error) {
	logs, err := accessLogs(b.settings, streamLogFields)
	if err != nil {
		return nil, err
	}
	shares, err := b.streamShares(to)
	if err != nil {
		return nil, err
	}
	draw, err := drawByClient(shares)
	if err != nil {
		return nil, err
	}
	return listenerFilter("envoy.filters.udp_listener.udp_proxy", &envoy_udp_v3.UdpProxyConfig{
		StatPrefix: b.listener.GetName(), AccessLog: logs,
		IdleTimeout: durationpb.New(udpIdle), UpstreamSocketConfig: udpSocket(),
		RouteSpecifier: &envoy_udp_v3.UdpProxyConfig_Matcher{Matcher: draw},
	})
}
