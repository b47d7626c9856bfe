package egress

import (
	"crypto/tls"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/hop"
)

// proxyOf is a leased proxy as connections go by it.
func proxyOf(p client.Proxy) (hop.Proxy, error) {
	way := hop.Proxy{Scheme: p.Scheme, Host: p.Host, Port: p.Port, Username: p.Username, Password: p.Password}
	if p.Scheme != hop.HTTPS {
		return way, nil
	}
	way.TLS = &tls.Config{}
	return way, nil
}
