package egress

import (
	"crypto/tls"
	"fmt"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/hop"
)

// proxyOf is a leased proxy as connections go by it.
func proxyOf(p client.Proxy) (hop.Proxy, error) {
	way := hop.Proxy{Scheme: p.Scheme, Host: p.Host, Port: p.Port, Username: p.Username, Password: p.Password}
	if p.Scheme != hop.HTTPS {
		return way, nil
	}
	if p.TLS == nil {
		return way, nil
	}
	roots, err := hop.Authorities(p.TLS.CA)
	if err != nil {
		return way, fmt.Errorf("the authorities of proxy %s: %w", p.ID(), err)
	}
	way.TLS = &tls.Config{ServerName: p.TLS.ServerName, RootCAs: roots, InsecureSkipVerify: p.TLS.InsecureSkipVerify} //nolint:gosec // as its owner asks
	return way, nil
}
