package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// handle serves one connection: what it asks for, and that.
func (r *Router) handle(ctx context.Context, c *proxy.Conn) error {
	began := time.Now()
	if err := errors.Join(proxy.SetLiveness(c, proxy.DefaultLiveness()), c.SetDeadline(time.Now().Add(r.options.StartupTimeout))); err != nil {
		return err
	}
	if err := r.options.Proxy.Accept(c); err != nil {
		return err
	}
	client := &client{conn: c, began: began}
	packet, action, err := r.negotiate(ctx, c, client)
	if err != nil {
		return client.refuse(err)
	}
	if action == session.SendCancel {
		defer client.end()
		return r.cancel(ctx, client, packet.Key)
	}
	if !c.Admit() {
		return client.refuse(session.ErrTooMany)
	}
	if action == session.PassTLS {
		return r.pass(ctx, client)
	}
	return r.session(ctx, client, packet)
}

// client is a connection in its startup phase.
type client struct {
	conn net.Conn // a *proxy.Conn, or TLS over it
	host string   // the name that the TLS handshake asked for
	sees []byte   // the certificate that the handshake showed, in DER, where that matters
	// passed is TLS that is not answered here; nil if there is none. Nothing can be said
	// to such a client.
	passed *passed

	began time.Time
}

// negotiate answers requests for encryption until the client asks for a session or a
// cancel. A first byte that TLS begins with is a direct handshake.
func (r *Router) negotiate(ctx context.Context, c *proxy.Conn, client *client) (pgwire.Packet, session.Action, error) {
	negotiation := session.Negotiation{TLS: r.offersTLS(), Required: r.options.Required}
	if direct, err := startsWithTLS(c); err != nil {
		return pgwire.Packet{}, 0, err
	} else if direct && negotiation.TLS {
		if err := r.secure(ctx, c, client, true); err != nil || client.passed != nil {
			return pgwire.Packet{}, session.PassTLS, err
		}
		negotiation.Secured()
	}
	for {
		packet, err := pgwire.Read(client.conn)
		if err != nil {
			return packet, 0, err
		}
		action, err := negotiation.Packet(packet)
		if err != nil {
			return packet, 0, err
		}
		switch action {
		case session.AnswerNo:
			_, err = client.conn.Write([]byte{'N'})
		case session.StartTLS:
			if c.Arrived() {
				return packet, 0, session.ErrEarly
			}
			if _, err = client.conn.Write([]byte{'S'}); err == nil {
				err = r.secure(ctx, c, client, false)
			}
			negotiation.Secured()
		case session.StartSession, session.SendCancel, session.PassTLS:
			return packet, action, nil
		}
		if err != nil || client.passed != nil {
			return packet, session.PassTLS, err
		}
	}
}

// tlsHandshake is the first byte of a TLS handshake record (RFC 8446, section 5.1). No
// startup packet is that long.
const tlsHandshake = 0x16

func startsWithTLS(c *proxy.Conn) (bool, error) {
	var first [1]byte
	if _, err := io.ReadFull(c, first[:]); err != nil {
		return false, err
	}
	c.Unread(first[:])
	return first[0] == tlsHandshake, nil
}

// secure shakes hands, unless the client's TLS is for its server. An error ends the
// connection without a word: what is in clear after an answer S is none of the client's
// business.
func (r *Router) secure(ctx context.Context, c *proxy.Conn, client *client, direct bool) (err error) {
	client.passed, err = r.overhear(ctx, c, direct)
	switch {
	case err != nil || client.passed != nil:
		return err
	case r.options.TLS == nil:
		return &handshakeError{errNoCertificate}
	}
	config := r.options.TLS.Config()
	if direct {
		config = r.options.TLS.DirectConfig()
	}
	secured := tls.Server(c, r.noting(config, client))
	if err := proxy.Handshake(ctx, secured); err != nil {
		return &handshakeError{err}
	}
	client.conn, client.host = secured, secured.ConnectionState().ServerName
	return nil
}

// handshakeError is a TLS handshake that failed; the client cannot be told.
type handshakeError struct{ error }

func (e *handshakeError) Unwrap() error { return e.error }

// refuseTimeout bounds how long a refusal may wait for a client that reads nothing.
const refuseTimeout = time.Second

// refuse tells the client why it is not served. Connections that were only opened, or
// whose handshake failed, are told nothing.
func (c *client) refuse(err error) error {
	if _, ok := errors.AsType[*handshakeError](err); ok || c.passed != nil {
		return err
	}
	refusal, ok := errors.AsType[*session.RefusalError](err)
	if !ok {
		refusal = session.Unreadable(err)
	}
	if refusal == nil {
		return err
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(refuseTimeout))
	if _, failed := c.conn.Write(refusal.Response().Append(nil)); failed == nil {
		c.end()
		c.drop()
	}
	return err
}

// drop reads what the client still sends until it closes: a socket that is closed with
// bytes unread resets its connection, and the reset can overtake the refusal.
func (c *client) drop() {
	_ = c.conn.SetReadDeadline(time.Now().Add(refuseTimeout))
	_, _ = io.Copy(io.Discard, c.conn)
}

// end says that nothing more comes. In TLS that has to be said: a client to which it is
// not takes its cancel for failed.
func (c *client) end() {
	if closer, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = closer.CloseWrite() // the connection is closed next
	}
}
