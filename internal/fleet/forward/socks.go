package forward

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
)

// serveSOCKS serves one client of SOCKS.
func (x *session) serveSOCKS(ctx context.Context) error {
	_ = x.conn.SetDeadline(time.Now().Add(x.Limits.Startup))
	grant, err := x.greet()
	if err != nil {
		return x.leave(err)
	}
	x.counters.requests[overSOCKS].Add(1)
	to, err := socks5.ReadRequest(x.in)
	if wrong, ok := errors.AsType[*socks5.RefusedError](err); ok {
		return x.refuseSOCKS(&RefusalError{Kind: "http_request_error", Reply: wrong.Reply, Text: wrong.Error()})
	}
	if err != nil {
		return x.leave(err)
	}
	dialling, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer x.leases.hold(grant, cancel)()
	p, err := x.open(dialling, grant, to)
	if err != nil {
		return x.refuseSOCKS(refuse(err))
	}
	_ = x.conn.SetWriteDeadline(time.Now().Add(x.Limits.Startup))
	if err := socks5.WriteReply(x.conn, socks5.Succeeded); err != nil {
		p.drop()
		return err
	}
	return x.tunnel(ctx, grant, protocols[overSOCKS], to, p)
}

// greet finds out who the client is. A client that can show a password is asked for
// it, unless there is none that it could show and it does not insist.
func (x *session) greet() (access.Grant, error) {
	methods, err := socks5.ReadGreeting(x.in)
	if err != nil {
		return access.Grant{}, err
	}
	bare, password := bytes.IndexByte(methods, socks5.NoAuthentication) >= 0, bytes.IndexByte(methods, socks5.UserPassword) >= 0
	if password && (!bare || x.Access.Asks()) {
		return x.askPassword()
	}
	grant, err := access.Grant{}, error(errNoMethod)
	if bare {
		grant, err = x.decide(nil)
	}
	if err != nil {
		x.counters.refused(refuse(err))
		_ = socks5.WriteMethod(x.conn, socks5.NoneAcceptable)
		return grant, err
	}
	return grant, socks5.WriteMethod(x.conn, socks5.NoAuthentication)
}

// errNoMethod is of a client that only offers methods that nobody here knows.
var errNoMethod = &RefusalError{403, "http_request_denied", socks5.NotAllowed, "no method of authentication that this proxy has"}

func (x *session) askPassword() (access.Grant, error) {
	if err := socks5.WriteMethod(x.conn, socks5.UserPassword); err != nil {
		return access.Grant{}, err
	}
	username, password, err := socks5.ReadUserPassword(x.in)
	if err != nil {
		return access.Grant{}, err
	}
	grant, err := x.decide(&access.Given{Username: username, Password: password})
	if err != nil {
		x.counters.refused(refuse(err))
	}
	return grant, errors.Join(err, socks5.WriteUserPassword(x.conn, err == nil))
}

// refuseSOCKS answers a request that comes to nothing.
func (x *session) refuseSOCKS(r *RefusalError) error {
	x.counters.refused(r)
	_ = x.conn.SetWriteDeadline(time.Now().Add(x.Limits.Startup))
	_ = socks5.WriteReply(x.conn, r.Reply)
	return x.leave(r)
}
