package envoy

import (
	"net/netip"
	"strconv"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_tlsinspector_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
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
func translateListener(name string, l model.Listener, s model.Settings, o Options) Output {
	if err := checkName("name", name); err != nil {
		return failed(xdsserve.Listener, name, l.Origins, err)
	}
	if err := checkBind(l); err != nil {
		return failed(xdsserve.Listener, name, l.Origins, err)
	}
	built := listenerBuilder{settings: s, listener: &envoy_listener_v3.Listener{
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
	listener *envoy_listener_v3.Listener
	uses     []xdsserve.Name
	left     []error // why chains were left out
}

func (b *listenerBuilder) chains(l model.Listener) error {
	switch l.Protocol {
	case model.HTTP:
		return b.plain(l)
	case model.HTTPS:
		return b.tls(l)
	case model.TCP:
		return b.stream(l)
	}
	return faultf("protocol", string(l.Protocol), "unknown protocol: use HTTP, HTTPS or TCP")
}

func (b *listenerBuilder) plain(l model.Listener) error {
	filter, err := b.http(l.Table)
	if err != nil {
		return within("table", err)
	}
	b.listener.FilterChains = []*envoy_listener_v3.FilterChain{{Filters: []*envoy_listener_v3.Filter{filter}}}
	return nil
}

// tls adds a chain for each server name. A chain that cannot be made is left
// out: its handshakes fail, and the others serve.
func (b *listenerBuilder) tls(l model.Listener) error {
	if err := b.inspectTLS(); err != nil {
		return err
	}
	taken := map[string]bool{}
	for i, c := range l.Chains {
		field := "chains[" + strconv.Itoa(i) + "]"
		if taken[c.Hostname] || taken["name "+c.Name] {
			b.left = append(b.left, faultf(field+".hostname", c.Hostname, "another listener of this port has this name; the first is served"))
			continue
		}
		chain, err := b.chain(c)
		if err != nil {
			b.left = append(b.left, within(field, err))
			continue
		}
		taken[c.Hostname], taken["name "+c.Name] = true, true
		b.listener.FilterChains = append(b.listener.FilterChains, chain)
	}
	if len(b.listener.FilterChains) > 0 {
		return nil
	}
	if len(b.left) > 0 {
		err := b.left[0]
		b.left = b.left[1:]
		return err
	}
	return faultf("chains", "", "no listener of this port can be served")
}

func (b *listenerBuilder) inspectTLS() error {
	inspector, err := pack(&envoy_tlsinspector_v3.TlsInspector{})
	if err != nil {
		return err
	}
	b.listener.ListenerFilters = []*envoy_listener_v3.ListenerFilter{{
		Name:       "envoy.filters.listener.tls_inspector",
		ConfigType: &envoy_listener_v3.ListenerFilter_TypedConfig{TypedConfig: inspector},
	}}
	return nil
}

func (b *listenerBuilder) chain(c model.Chain) (*envoy_listener_v3.FilterChain, error) {
	if err := checkName("name", c.Name); err != nil {
		return nil, err
	}
	match, err := serverName(c.Hostname)
	if err != nil {
		return nil, err
	}
	socket, secrets, err := terminateTLS(c.Certificates)
	if err != nil {
		return nil, err
	}
	filter, err := b.http(c.Table)
	if err != nil {
		return nil, err
	}
	b.uses = append(b.uses, secrets...)
	return &envoy_listener_v3.FilterChain{
		Name: c.Name, FilterChainMatch: match, TransportSocket: socket,
		Filters: []*envoy_listener_v3.Filter{filter},
	}, nil
}

// serverName selects a chain by the name of the TLS handshake; a chain without
// one takes every name that no other chain takes, and handshakes without a name.
func serverName(host string) (*envoy_listener_v3.FilterChainMatch, error) {
	if host == "" || host == "*" {
		return nil, nil
	}
	if err := checkHostname("hostname", host, true); err != nil {
		return nil, err
	}
	return &envoy_listener_v3.FilterChainMatch{ServerNames: []string{host}}, nil
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
