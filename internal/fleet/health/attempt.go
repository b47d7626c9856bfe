package health

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"golang.org/x/net/http/httpguts"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// maxAnswer is how much of an answer is read, its head included; more is no answer.
const maxAnswer = 64 << 10

// attempt is one probe under way.
type attempt struct {
	proxy       Proxy
	credentials offer.Credentials
	stage       stage
	target      *url.URL // nil without
	address     string   // host:port of the target, as a proxy is asked for it
	seen        netip.Addr
}

// do connects to the proxy, through it to the target, and asks.
func (a *attempt) do(ctx context.Context) error {
	a.stage = preparing
	if err := a.aim(); err != nil {
		return err
	}
	a.stage = connecting
	dialer := net.Dialer{KeepAlive: -1}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(a.proxy.Host, strconv.Itoa(a.proxy.Port)))
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close()
	}()
	if a.proxy.Scheme != "https" {
		return a.through(ctx, newHop(conn))
	}
	secure, err := a.secure(ctx, conn)
	if err != nil {
		return err
	}
	return a.through(ctx, newHop(secure))
}

// through has a connection to the proxy, and what it is asked for depends on its scheme.
func (a *attempt) through(ctx context.Context, h *hop) error {
	switch {
	case a.proxy.Scheme == "socks5":
		if err := a.socks(h); err != nil || a.target == nil {
			return err
		}
	case a.target == nil:
		return nil
	case a.target.Scheme == "http":
		return a.ask(h, true)
	default:
		if err := a.tunnel(h); err != nil {
			return err
		}
	}
	if a.target.Scheme == "http" {
		return a.ask(h, false)
	}
	a.stage = securingDeep
	h.left = 1 << 30 // what comes out of TLS is counted
	secure := tls.Client(h, &tls.Config{
		ServerName: a.target.Hostname(), MinVersion: tls.VersionTLS12,
		// A probe has no secrets to keep from the future, and pays for each handshake.
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384},
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	return a.ask(newHop(secure), false)
}

// aim reads the URL that is asked for.
func (a *attempt) aim() error {
	if a.proxy.Check.URL == "" {
		return nil
	}
	u, err := url.Parse(a.proxy.Check.URL)
	if err != nil {
		return found(Broken, "healthCheck.url cannot be read: give http://HOST/ or https://HOST/")
	}
	host, err := httpguts.PunycodeHostPort(u.Host)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return found(Broken, "healthCheck.url has no scheme http or https, or no host")
	}
	u.Host = host
	a.target, a.address = u, host
	if u.Port() == "" {
		a.address = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return nil
}

// secure speaks TLS with the proxy itself, as its owner says.
func (a *attempt) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	a.stage = securing
	t := a.proxy.TLS
	c := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify, MinVersion: tls.VersionTLS12} //nolint:gosec // as its owner asks
	if c.ServerName == "" {
		c.ServerName = a.proxy.Host
	}
	if t.CA != nil {
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(t.CA) {
			return nil, found(TLSFailed, "the Secret of spec.tls.caSecretRef has no certificate in PEM in ca.crt: correct it")
		}
	}
	secure := tls.Client(conn, c)
	return secure, secure.HandshakeContext(ctx)
}

// hop is a connection whose bytes are counted and buffered.
type hop struct {
	net.Conn
	r    *bufio.Reader
	left int  // bytes that may still be read
	full bool // they were not enough
}

func newHop(conn net.Conn) *hop {
	h := &hop{Conn: conn, left: maxAnswer}
	h.r = bufio.NewReaderSize(counted{h}, 2048)
	return h
}

// Read implements [net.Conn].
func (h *hop) Read(p []byte) (int, error) { return h.r.Read(p) }

type counted struct{ h *hop }

func (c counted) Read(p []byte) (int, error) {
	if c.h.left <= 0 {
		c.h.full = true
		return 0, errTooLong
	}
	n, err := c.h.Conn.Read(p[:min(len(p), c.h.left)])
	c.h.left -= n
	return n, err
}

var errTooLong = found(Broken, "the answer is longer than %d bytes: give a healthCheck.url with a shorter one", maxAnswer)

// header is what every request of a probe has.
func header() http.Header { return http.Header{"User-Agent": {"gatehouse-probe"}} }
