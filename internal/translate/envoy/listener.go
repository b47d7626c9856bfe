package envoy

import (
	"net/netip"
	"slices"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// bufferLimit bounds what one connection may hold in memory, in bytes, as
// Envoy's guide for edge proxies has it.
const bufferLimit = 32 << 10

// translateListener makes the listener of one address and port. Its name is
// the model's key. reuse_port is off: two processes that want one port are then
// an error for the second, and not a silent split of its connections.
//
// table says how a table is looked up.
func translateListener(name string, l model.Listener, g model.Gateway, table func(model.TableID) model.RouteTable, o Options) Output {
	if g.Tracing != nil && (l.Protocol == model.HTTP || l.Protocol == model.HTTPS) {
		l.Origins = slices.Concat(l.Origins, g.Tracing.Origins)
	}
	if err := checkName("name", name); err != nil {
		return failed(xdsserve.Listener, name, l.Origins, err)
	}
	if err := checkBind(l); err != nil {
		return failed(xdsserve.Listener, name, l.Origins, err)
	}
	built := listenerBuilder{settings: g.Settings, tracing: g.Tracing, table: table, listener: &envoy_listener_v3.Listener{
		Name:                          name,
		Address:                       listenerAddress(l, o),
		EnableReusePort:               wrapperspb.Bool(false),
		PerConnectionBufferLimitBytes: wrapperspb.UInt32(bufferLimit),
	}}
	if err := built.chains(l); err != nil {
		return failed(xdsserve.Listener, name, l.Origins, err)
	}
	out := output(xdsserve.Listener, string(l.Gateway), name, built.listener, sortedUses(built.uses), l.Origins)
	for _, err := range built.left {
		out.Failures = append(out.Failures, failure(xdsserve.Listener, name, l.Origins, err))
	}
	return out
}

// listenerBuilder gathers the parts of a listener.
type listenerBuilder struct {
	settings model.Settings
	tracing  *model.Tracing
	table    func(model.TableID) model.RouteTable
	listener *envoy_listener_v3.Listener
	uses     []xdsserve.Name
	left     []error // why chains were left out
}

func (b *listenerBuilder) chains(l model.Listener) error {
	switch l.Protocol {
	case model.HTTP:
		return b.plain(l)
	case model.HTTPS, model.TLS:
		return b.tls(l)
	case model.TCP:
		return b.stream(l)
	case model.UDP:
		return b.datagrams(l)
	}
	return faultf("protocol", string(l.Protocol), "unknown protocol: use HTTP, HTTPS, TLS, TCP or UDP")
}

func (b *listenerBuilder) plain(l model.Listener) error {
	filter, err := b.http(l.Table, l.Admits)
	if err != nil {
		return within("table", err)
	}
	b.listener.FilterChains = []*envoy_listener_v3.FilterChain{{Filters: []*envoy_listener_v3.Filter{filter}}}
	return nil
}

func checkBind(l model.Listener) error {
	if l.Address.Zone() != "" {
		return faultf("address", l.Address.String(), "an address with a zone cannot be bound: use one without")
	}
	if l.Port == 0 {
		return faultf("port", "0", "a listener needs a port between 1 and 65535")
	}
	return nil
}

// listenerAddress is where to bind; the unspecified IPv6 address takes IPv4 too.
func listenerAddress(l model.Listener, o Options) *envoy_core_v3.Address {
	at := l.Address.Unmap()
	if !at.IsValid() {
		at = o.bindAddress()
	}
	address := socketAddress(netip.AddrPortFrom(at, l.Port))
	address.GetSocketAddress().Ipv4Compat = at == netip.IPv6Unspecified()
	return address
}

func socketAddress(at netip.AddrPort) *envoy_core_v3.Address {
	return &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
		Address:       at.Addr().String(),
		PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: uint32(at.Port())},
	}}}
}
