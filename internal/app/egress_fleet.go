package app

import (
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/metrics"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/pkg/runner"
)

// embeddedDrain leaves a fleet the rest of the 10 s in which it ends: leases are written
// down once the super-proxy has gone.
const embeddedDrain = 5 * time.Second

// superProxy is one within the fleet, that asks the lease API of this process; none unless
// --egress-listen says where. It starts last, and gives its leases back while the API
// still answers. What proxies of the fleet may connect to, it lets through.
func (f *fleet) superProxy() []runner.Component {
	if f.config.Egress.Listen == "" {
		return nil
	}
	c := f.embedded()
	s := &superProxy{config: c, io: f.io, metrics: metrics.New(f.metrics.Catalog()), api: func() string { return reachable(f.leaseListener) }}
	return s.components()
}

func (f *fleet) embedded() config.Egress {
	ports, _ := destination.ParsePorts(destination.DefaultPorts)
	return config.Egress{
		Listen: f.config.Egress.Listen, Tokens: f.config.Egress.Tokens, Token: f.config.Leases.Token,
		AllowDestinations: slices.Concat(f.config.Process.AllowDestinations, f.config.Pods.AllowDestinations), AllowPorts: ports,
		MaxConnections: 8192, ConnectTimeout: 15 * time.Second, IdleTimeout: 5 * time.Minute, DrainTimeout: embeddedDrain,
	}
}

// reachable is the URL at which this process reaches its own listener.
func reachable(l net.Listener) string {
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil || !at.Addr().IsUnspecified() {
		return url(l)
	}
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if at.Addr().Is6() && !at.Addr().Is4In6() {
		loopback = netip.IPv6Loopback()
	}
	return "http://" + netip.AddrPortFrom(loopback, at.Port()).String()
}
