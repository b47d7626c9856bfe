package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/hop"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/session"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	fleet_access "github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// routes are by leased proxies.
type routes struct{ *Server }

// Route implements [forward.Routes].
func (r routes) Route(count func(net.Conn) net.Conn) forward.Route {
	return &route{Server: r.Server, count: count}
}

// route is that of one connection of a client.
type route struct {
	*Server
	count func(net.Conn) net.Conn
	plain *plain // what carries its requests of plain HTTP; nil before the first
}

// attempts is how many proxies are tried.
const attempts = 2

// Tunnel implements [forward.Route].
func (r *route) Tunnel(ctx context.Context, g fleet_access.Grant, to destination.Target) (*forward.Passage, error) {
	ask, err := r.asked(g, to)
	if err != nil {
		return nil, r.done(err)
	}
	var failed *session.Held
	var last error
	for range attempts {
		use, err := r.Take(ctx, ask, failed)
		if err != nil {
			return nil, r.missed(err, failed, last)
		}
		c, err := r.through(ctx, use.Proxy(), to)
		if err == nil {
			return &forward.Passage{Conn: c, Under: use.Under(), Told: told(use.Held), Done: use.Done}, r.done(nil)
		}
		use.Done()
		failed, last = use.Held, err
		if !another(err) {
			break
		}
	}
	_ = r.done(last)
	return nil, by(failed, last)
}

// another says whether another proxy may do what one did not.
func another(err error) bool {
	failed, ok := errors.AsType[*hop.Error](err)
	return ok && failed.Proxy
}

// missed is what a client is told for which there was no lease: after an attempt, what
// became of that.
func (r *route) missed(err error, failed *session.Held, last error) error {
	if failed != nil {
		_ = r.done(last)
		return by(failed, last)
	}
	return unleased(r.done(err))
}

func (r *route) done(err error) error {
	if r.Config.Metrics != nil {
		r.Config.Metrics.Requested(outcome(err))
	}
	return err
}

// asked is what a request needs a lease for, if its destination is allowed.
func (r *route) asked(g fleet_access.Grant, to destination.Target) (session.Ask, error) {
	if err := r.allowed(to); err != nil {
		return session.Ask{}, err
	}
	ask := *g.For.(*session.Ask) //nolint:forcetypeassert // doors put it there
	if ask.Target == "" {
		ask.Target = strings.ToLower(strings.TrimSuffix(to.Host, "."))
	}
	return ask, nil
}

// allowed applies the rules to what can be known here. A name that some resolvers take for
// an address, such as 127.1, is none.
func (r *route) allowed(to destination.Target) error {
	if err := r.Config.Rules.Port(to.Port); err != nil {
		return err
	}
	if a, err := netip.ParseAddr(to.Host); err == nil {
		return r.Config.Rules.Address(a, nil)
	}
	host := strings.ToLower(strings.TrimSuffix(to.Host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if isNumber(last) {
		return destination.ErrAddress
	}
	if last == "localhost" {
		return r.Config.Rules.Address(netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil)
	}
	return nil
}

// isNumber is how the URL standard tells an IPv4 address from a name (5.3, ends in a
// number).
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// through connects to a target by a proxy.
func (r *route) through(ctx context.Context, p client.Proxy, to destination.Target) (net.Conn, error) {
	way, err := proxyOf(p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Config.Limits.Connect)
	defer cancel()
	return hop.Tunnel(ctx, way, to)
}
