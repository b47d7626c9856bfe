// Package servertls secures connections to servers: it turns the settings of an operator
// into handshakes, as a client of PostgreSQL makes them. What a server sends before its
// handshake is one byte; everything else, an error message included, ends the connection
// unread, because nobody knows who sent it.
//
// Authorities and the certificate of the router are read again when their files have
// changed, by the handshake that comes next; sessions under way keep theirs. A file that
// cannot be used is refused, and what it held before stays.
package servertls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Mode says what is asked of servers, in the words of libpq's sslmode.
type Mode string

// Modes. The zero Mode is Disable.
const (
	Disable    Mode = "disable"     // clear text
	Require    Mode = "require"     // TLS with anybody
	VerifyCA   Mode = "verify-ca"   // with whom an authority vouches for
	VerifyFull Mode = "verify-full" // who has, besides, the name that was dialled
)

// Options are what an operator says.
type Options struct {
	Mode Mode
	// CAFile has the authorities in PEM; needed to verify, and not looked at otherwise.
	CAFile string
	// CertFile and KeyFile are the router's own certificate, for servers that ask for
	// one; empty for none.
	CertFile, KeyFile string
	Log               *slog.Logger
}

// Client shakes hands with servers. Make it with New; nil secures nothing.
type Client struct {
	mode Mode
	ca   *followed[*x509.CertPool]
	own  *followed[*tls.Certificate]
}

// New returns a Client, nil where servers are spoken to in clear. The error names the
// file that cannot be used.
func New(o Options) (*Client, error) {
	c := &Client{mode: o.Mode}
	var err error
	switch o.Mode {
	case Disable, "":
		return nil, nil //nolint:nilnil // no client is what no TLS is
	case VerifyCA, VerifyFull:
		c.ca, err = follow(o.Log, authorities, o.CAFile)
	case Require:
	default:
		err = fmt.Errorf("TLS to servers has no mode %q", o.Mode)
	}
	if err != nil {
		return nil, err
	}
	if o.CertFile != "" {
		c.own, err = follow(o.Log, certificate, o.CertFile, o.KeyFile)
	}
	return c, err
}

// Error is why a server is not spoken to: what it answered, or who it is.
type Error struct{ Err error }

// Error implements error.
func (e *Error) Error() string { return "TLS to the server: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reasons to speak to no server.
var (
	// ErrRefused: the server offers no TLS.
	ErrRefused = errors.New("it offers none; turn it on there (ssl = on)")
	// ErrNoAnswer: what came is no answer to a request for TLS.
	ErrNoAnswer = errors.New("what answers the request for it is no PostgreSQL server")
)

// Secure asks the server at the other end of conn for TLS, shakes hands, and returns the
// secured connection; conn itself from a nil Client. host is the name, or the IP address,
// that was dialled. The deadline of conn bounds the request and the end of ctx the
// handshake. The error is an *Error, or that of conn.
func (c *Client) Secure(ctx context.Context, conn *proxy.Conn, host string) (net.Conn, error) {
	if c == nil {
		return conn, nil
	}
	if err := Ask(conn); err != nil {
		return nil, err
	}
	secured := tls.Client(conn, c.config(host))
	if err := proxy.Handshake(ctx, secured); err != nil {
		return nil, &Error{explained(err)}
	}
	return secured, nil
}

// Ask sends the request for TLS and reads its answer, a single byte. Nil says that a
// handshake may begin; the error is an *Error, or that of conn.
func Ask(conn net.Conn) error {
	if _, err := conn.Write(pgwire.AppendSSLRequest(nil)); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return err
	}
	switch answer[0] {
	case 'S':
		return nil
	case 'N':
		return &Error{ErrRefused}
	}
	return &Error{ErrNoAnswer}
}

// config has no sessions to resume, as PostgreSQL has none.
func (c *Client) config(host string) *tls.Config {
	config := &tls.Config{
		ServerName: strings.TrimSuffix(host, "."),
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"postgresql"},
	}
	if c.ca != nil {
		config.RootCAs = c.ca.now()
	}
	if c.mode != VerifyFull {
		config.InsecureSkipVerify = true //nolint:gosec // verify-ca asks below, and require is told not to
	}
	if c.mode == VerifyCA {
		config.VerifyConnection = vouched(config.RootCAs)
	}
	if c.own != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.own.now(), nil }
	}
	return config
}

// vouched verifies a server's chain, whatever its name.
func vouched(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		others := x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			others.AddCert(c)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: others})
		return err
	}
}

// explained adds the remedy where there is one.
func explained(err error) error {
	switch {
	case is[x509.UnknownAuthorityError](err):
		return fmt.Errorf("%w; BACKEND_TLS_CA_FILE must have the authority that signed it", err)
	case is[x509.HostnameError](err):
		return fmt.Errorf("%w; give the server a certificate with that name, or use BACKEND_TLS=verify-ca", err)
	}
	return err
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
