package postgres

import (
	"context"
	"errors"
	"net"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// connector connects to servers: the same way for a session and for its cancel.
type connector struct{}

// connect returns a connection to a target on which first, a startup packet or a
// cancel, has been sent. The end of ctx ends the attempt; the connection that it
// returns has no deadline.
func (connector) connect(ctx context.Context, target discovery.Target, first []byte) (net.Conn, error) {
	dialled, err := new(net.Dialer).DialContext(ctx, "tcp", target.Address)
	if err != nil {
		return nil, err
	}
	if err := proxy.SetLiveness(dialled, proxy.DefaultLiveness()); err != nil {
		return nil, errors.Join(err, dialled.Close())
	}
	if _, err := dialled.Write(first); err != nil {
		return nil, errors.Join(err, dialled.Close())
	}
	return proxy.Wrap(dialled), nil
}
