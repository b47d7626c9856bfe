package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// past is a deadline that wakes whoever reads or writes.
var past = time.Unix(1, 0)

// session is one connection of a client.
type session struct {
	*Server
	raw    *proxy.Conn
	conn   net.Conn // raw, or TLS over it
	in     *bufio.Reader
	client netip.Addr
	route  Route
}

// serve is the handler of a connection.
func (s *Server) serve(ctx context.Context, c *proxy.Conn) error {
	s.counters.connections.Add(1)
	_ = proxy.SetLiveness(c, proxy.DefaultLiveness())
	x := &session{Server: s, raw: c, conn: c, client: addressOf(c.RemoteAddr())}
	if x.route = (&direct{session: x}); s.Routes != nil {
		x.route = s.Routes.Route(s.count)
	}
	defer x.close()
	if err := x.handshake(ctx); err != nil {
		return err
	}
	x.in = bufio.NewReaderSize(x.conn, maxHead)
	if err := x.await(s.Limits.Startup); err != nil {
		return err
	}
	first, err := x.in.Peek(1)
	switch {
	case err != nil:
		return err
	case first[0] == socks5.Version:
		return x.serveSOCKS(ctx)
	case s.OnlySOCKS:
		return x.leave(x.answer(nil, errProtocol, false))
	default:
		return x.serveHTTP(ctx)
	}
}

func (x *session) close() {
	x.route.Close()
	if x.conn != net.Conn(x.raw) {
		_ = x.conn.SetDeadline(time.Now().Add(time.Second))
		_ = x.conn.Close() // with an alert; the server closes only what is beneath
	}
}

func (x *session) handshake(ctx context.Context) error {
	if x.TLS == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, x.Limits.Startup)
	defer cancel()
	c := tls.Server(x.raw, x.TLS)
	x.conn = c
	return proxy.Handshake(ctx, c)
}

// await waits for a byte, as long as the proxy does not go away. What has arrived by
// then is still served.
func (x *session) await(limit time.Duration) error {
	_ = x.conn.SetReadDeadline(time.Now().Add(limit))
	woken := make(chan struct{})
	stop := context.AfterFunc(x.draining, func() {
		defer close(woken)
		_ = x.conn.SetReadDeadline(past)
	})
	_, err := x.in.Peek(1)
	if !stop() {
		<-woken
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(x.Limits.Startup))
	if err != nil && x.draining.Err() != nil && x.raw.Arrived() {
		_, err = x.in.Peek(1)
	}
	return err
}

// decide asks who the client is, and takes a place for it.
func (x *session) decide(given *access.Given) (access.Grant, error) {
	grant, err := x.Access.Decide(x.client, given, time.Now())
	switch {
	case errors.Is(err, access.ErrWrong):
		x.counters.wrong.Add(1)
	case err == nil && !x.raw.Admit():
		return grant, errFull
	case err == nil:
		x.leases.shown(grant)
	}
	return grant, err
}

// leave ends a connection whose client may still be sending, so that it reads the last
// answer before it learns that nobody listens (RFC 9112, 9.6). It returns err.
func (x *session) leave(err error) error {
	_ = x.conn.SetDeadline(time.Now().Add(lingerTime))
	if half, ok := x.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, x.conn, lingerBytes)
	}
	return err
}

const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// addressOf returns the address of a TCP peer.
func addressOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
