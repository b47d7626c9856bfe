package postgres

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// connector connects to servers: the same way for a session and for its cancel.
type connector struct{ tls *servertls.Client }

// connect returns a connection to a target on which first, a startup packet or a
// cancel, has been sent: encrypted where servers are spoken to by TLS. The end of ctx
// ends the attempt; the connection that it returns has no deadline.
func (c connector) connect(ctx context.Context, target discovery.Target, first []byte) (net.Conn, error) {
	dialled, err := new(net.Dialer).DialContext(ctx, "tcp", target.Address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = dialled.SetDeadline(time.Unix(1, 0)) })
	server, err := c.begin(ctx, dialled, target, first)
	if !stop() {
		err = context.Cause(ctx) // and its deadline, now or in a moment, is over
	}
	if err != nil {
		return nil, errors.Join(err, dialled.Close())
	}
	return server, nil
}

func (c connector) begin(ctx context.Context, dialled net.Conn, target discovery.Target, first []byte) (net.Conn, error) {
	if err := proxy.SetLiveness(dialled, proxy.DefaultLiveness()); err != nil {
		return nil, err
	}
	if target.Backend.Passthrough {
		return c.pass(dialled, first)
	}
	server, err := c.tls.Secure(ctx, proxy.Wrap(dialled), target.Backend.Host)
	if err != nil {
		return nil, err
	}
	_, err = server.Write(first)
	return server, err
}

// pass asks the server for TLS and gives it what the client has said first.
func (connector) pass(dialled net.Conn, hello []byte) (net.Conn, error) {
	if err := servertls.Ask(dialled); err != nil {
		return nil, err
	}
	_, err := dialled.Write(hello)
	return proxy.Wrap(dialled), err
}
