package forward

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// dial connects to a target that the rules allow. A name with several addresses is
// tried by all that are allowed.
func (s *Server) dial(ctx context.Context, t destination.Target) (net.Conn, error) {
	if err := s.Rules.Port(t.Port); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Limits.Connect)
	defer cancel()
	d := net.Dialer{ControlContext: s.check, KeepAlive: -1}
	if s.Egress.IsValid() && !s.Egress.IsLoopback() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.Egress, 0))
	}
	c, err := d.DialContext(ctx, "tcp", t.String())
	if err != nil {
		return nil, err
	}
	_ = proxy.SetLiveness(c, proxy.DefaultLiveness())
	return c, nil
}

// check sees the address that a socket is about to be connected to.
func (s *Server) check(_ context.Context, _, address string, raw syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return destination.ErrAddress
	}
	own, err := s.own.addresses(time.Now())
	if err != nil {
		return err
	}
	if err := s.Rules.Address(to.Addr(), own); err != nil {
		return err
	}
	switch {
	case !s.Egress.IsValid():
	case !s.Egress.IsLoopback():
		shareEgress(raw)
	case to.Addr().Unmap().IsLoopback(): // nothing else is reached from there
		return bindEgress(raw, s.Egress)
	}
	return nil
}

// ownAge is how soon a new address of the instance is known.
const ownAge = 10 * time.Second

// own are the addresses of the instance.
type own struct {
	egress netip.Addr

	mu   sync.Mutex
	read time.Time
	all  []netip.Addr
}

// addresses returns them as they were lately. If they cannot be read any more, those
// known count on.
func (o *own) addresses(now time.Time) ([]netip.Addr, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.read.IsZero() && now.Sub(o.read) < ownAge {
		return o.all, nil
	}
	found, err := net.InterfaceAddrs()
	if err == nil {
		o.read, o.all = now, append(parse(found), o.egress)
	}
	if o.read.IsZero() {
		return nil, fmt.Errorf("the addresses of this machine cannot be read: %w", err)
	}
	return o.all, nil
}

func parse(found []net.Addr) []netip.Addr {
	var all []netip.Addr
	for _, a := range found {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, p.Addr())
		}
	}
	return all
}
