package hop

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/socks5"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Schemes of proxies.
const (
	HTTP  = "http"
	HTTPS = "https"
	SOCKS = "socks5"
)

// Proxy is what connections go by.
type Proxy struct {
	Scheme string
	// Host is an address without brackets, or a name.
	Host               string
	Port               int
	Username, Password string // both empty where it asks for none
	// TLS is how one of scheme https is verified; nil for the system's authorities and Host.
	TLS *tls.Config
}

// DialTimeout bounds the connection to a proxy and its handshake: one that does not answer
// leaves time for another.
const DialTimeout = 5 * time.Second

// Error is why a proxy did not reach a target.
type Error struct {
	forward.RefusalError
	// Proxy says that it is the proxy's fault: another one may do.
	Proxy bool
	// Status are the members of Proxy-Status that the proxy sent.
	Status []string

	cause error
}

// Unwrap returns the cause, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// Failed is a proxy at which err has happened.
func Failed(err error) error {
	if _, ok := errors.AsType[*Error](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	r := forward.RefusalError{Status: http.StatusBadGateway, Kind: "destination_unavailable", Reply: socks5.GeneralFailure, Text: "the leased proxy closed the connection"}
	timeout, slow := errors.AsType[net.Error](err)
	alert, alerted := errors.AsType[tls.AlertError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	dial, dialled := errors.AsType[*net.OpError](err)
	switch {
	case certificate:
		r.Kind, r.Text = "tls_certificate_error", "the certificate of the leased proxy cannot be verified"
	case alerted:
		r.Kind, r.Text = "tls_alert_received", "the leased proxy ends the handshake: "+alert.Error()
	case record:
		r.Kind, r.Text = "tls_protocol_error", "the leased proxy does not speak TLS"
	case errors.Is(err, context.DeadlineExceeded) || slow && timeout.Timeout():
		r.Status, r.Kind, r.Text = http.StatusGatewayTimeout, "connection_timeout", "the leased proxy took too long"
	case dialled && dial.Op == "dial":
		r.Kind, r.Text = "connection_refused", "the leased proxy cannot be connected to"
	}
	return &Error{RefusalError: r, Proxy: true, cause: err}
}

// Dial connects to a proxy, inside TLS if that is its scheme.
func Dial(ctx context.Context, p Proxy) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	d := net.Dialer{KeepAlive: -1}
	raw, err := d.DialContext(ctx, "tcp", net.JoinHostPort(p.Host, strconv.Itoa(p.Port)))
	if err != nil {
		return nil, Failed(err)
	}
	_ = proxy.SetLiveness(raw, proxy.DefaultLiveness())
	c := proxy.Wrap(raw)
	if p.Scheme != HTTPS {
		return &Conn{Conn: c, base: c}, nil
	}
	inside := tls.Client(c, p.tls())
	if err := proxy.Handshake(ctx, inside); err != nil {
		_ = c.Close()
		return nil, Failed(err)
	}
	return &Conn{Conn: inside, base: c}, nil
}

func (p Proxy) tls() *tls.Config {
	c := &tls.Config{}
	if p.TLS != nil {
		c = p.TLS.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = p.Host
	}
	c.MinVersion, c.NextProtos = tls.VersionTLS12, []string{"http/1.1"}
	return c
}

// Authorities makes a pool of certificates in PEM; nil for an empty text, which is the
// system's.
func Authorities(pem string) (*x509.CertPool, error) {
	if pem == "" {
		return nil, nil //nolint:nilnil // the system's
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return nil, errors.New("no certificate in PEM")
	}
	return pool, nil
}

// Conn is a connection to a proxy, or through it.
type Conn struct {
	net.Conn
	base *proxy.Conn
}

// Through is what carries bytes to the target: the connection itself, or TLS over it.
func (c *Conn) Through() net.Conn { return c.Conn }

// Tunnel connects to a target through a proxy.
func Tunnel(ctx context.Context, p Proxy, to destination.Target) (net.Conn, error) {
	c, err := Dial(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := c.talk(ctx, func() error { return c.reach(p, to) }); err != nil {
		_ = c.base.Close()
		return nil, err
	}
	return c.Through(), nil
}

func (c *Conn) reach(p Proxy, to destination.Target) error {
	if p.Scheme == SOCKS {
		return c.socks(p, to)
	}
	return c.connect(p, to)
}

var past = time.Unix(1, 0)

// talk says something on the connection while ctx lasts.
func (c *Conn) talk(ctx context.Context, say func() error) error {
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		_ = c.SetDeadline(past)
	})
	err := say()
	if !stop() {
		<-woken
	}
	_ = c.SetDeadline(time.Time{})
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	if err != nil {
		return Failed(err)
	}
	return nil
}
