package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/proxyprotocol"
)

func proxyProtocolTable(p *postgresGiven) []*setting {
	return []*setting{
		{Setting{
			Key: "proxyProtocol", Value: "MODE", Default: "off",
			Usage: "take clients' addresses from headers of the PROXY protocol (v1, v2) of a load balancer: off, optional or required",
		}, func(v []string) error { return setProxyProtocol(&p.ProxyProtocol.Mode, v) }, false},
		{Setting{
			Key: "proxyProtocolTrusted", Value: "NETWORK,...",
			Usage: "networks of the load balancers whose headers are believed, 10.0.0.0/8; may be repeated",
		}, func(v []string) error { return setNetworks(&p.ProxyProtocol.Trusted, v) }, false},
	}
}

func setProxyProtocol(to *proxyprotocol.Mode, values []string) error {
	return synonym(to, values, map[string]proxyprotocol.Mode{
		"off": proxyprotocol.Off, "optional": proxyprotocol.Optional, "required": proxyprotocol.Required,
	}, "must be off, optional or required")
}

// setNetworks reads networks separated by commas; an address is a network of its own.
func setNetworks(to *[]netip.Prefix, values []string) error {
	*to = nil
	var errs Errors
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if part = strings.TrimSpace(part); part == "" && len(values) == 0 {
			continue
		}
		network, err := parseNetwork(part)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		*to = append(*to, network)
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return network, fmt.Errorf("has %q; write networks such as 10.0.0.0/8 or fd00::/8, separated by commas", text)
	case network.Addr().Is4In6():
		return network, fmt.Errorf("has %q; write an IPv4 network as such, for example 10.0.0.0/8", text)
	case network != network.Masked():
		return network, fmt.Errorf("has %q, an address inside of a network; write %s for the network", text, network.Masked())
	}
	return network, nil
}

// proxyProtocol refuses headers that nobody, and warns of headers that anybody, may send.
func (c *postgresCheck) proxyProtocol() {
	p := c.ProxyProtocol
	if p.Mode != proxyprotocol.Off && len(p.Trusted) == 0 {
		c.fail("proxyProtocolTrusted", "", fmt.Sprintf("is missing: PROXY_PROTOCOL is %s, and headers are believed from named networks only; name those of your load balancers, for example 10.0.0.0/8", p.Mode))
	}
	if p.Mode == proxyprotocol.Off && len(p.Trusted) > 0 {
		c.warn("proxyProtocolTrusted", "has no effect: PROXY_PROTOCOL is off")
		return
	}
	for _, network := range p.Trusted {
		if network.Bits() == 0 {
			c.warn("proxyProtocolTrusted", fmt.Sprintf("trusts everybody (%s): who can connect can pretend to be anybody", network))
		}
	}
}
