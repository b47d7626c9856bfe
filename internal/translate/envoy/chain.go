package envoy

import (
	"strconv"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_tlsinspector_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

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
	inspector, err := listenerFilter("envoy.filters.listener.tls_inspector", &envoy_tlsinspector_v3.TlsInspector{})
	b.listener.ListenerFilters = []*envoy_listener_v3.ListenerFilter{inspector}
	return err
}

func (b *listenerBuilder) chain(c model.Chain) (*envoy_listener_v3.FilterChain, error) {
	if err := checkName("name", c.Name); err != nil {
		return nil, err
	}
	match, err := serverName(c.Hostname)
	if err != nil {
		return nil, err
	}
	socket, secrets, err := b.handshake(c)
	if err != nil {
		return nil, err
	}
	filter, err := b.serve(c)
	if err != nil {
		return nil, err
	}
	b.uses = append(b.uses, secrets...)
	return &envoy_listener_v3.FilterChain{
		Name: c.Name, FilterChainMatch: match, TransportSocket: socket,
		Filters: []*envoy_listener_v3.Filter{filter},
	}, nil
}

// handshake ends TLS here, or leaves it to the backend.
func (b *listenerBuilder) handshake(c model.Chain) (*envoy_core_v3.TransportSocket, []xdsserve.Name, error) {
	switch {
	case c.Table != "":
		return terminateTLS(c.Certificates, c.Clients, "h2", "http/1.1")
	case len(c.Certificates) > 0:
		return terminateTLS(c.Certificates, c.Clients)
	default:
		return nil, nil, nil
	}
}

// serve answers the requests of a chain, or passes its connections on.
func (b *listenerBuilder) serve(c model.Chain) (*envoy_listener_v3.Filter, error) {
	if c.Table != "" {
		return b.http(c.Table, c.Admits)
	}
	filter, err := b.tcpProxy(c.Stream)
	return filter, within("stream", err)
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
