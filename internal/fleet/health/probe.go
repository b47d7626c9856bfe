package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxAnswer is how much of an answer is read; more is no answer of a probe.
const maxAnswer = 64 << 10

// Probe asks once. The transport is its own and nothing of it is kept: a tunnel that
// stays open would answer for the proxy, and one that is pooled by its destination for
// another proxy. Whatever happens is a result.
func Probe(ctx context.Context, p Proxy) Result {
	ctx, cancel := context.WithTimeout(ctx, p.Check.Timeout)
	defer cancel()
	a := attempt{proxy: p}
	began := time.Now()
	class, err := a.do(ctx)
	if err == nil {
		return Result{Class: OK, Latency: time.Since(began)}
	}
	if ctx.Err() != nil && class != ConnectStatus && class != AuthFailed {
		class, err = Timeout, fmt.Errorf("not over within %s", p.Check.Timeout)
	}
	return Result{Class: class, Message: a.clean(err), Latency: time.Since(began)}
}

// attempt is one probe under way.
type attempt struct {
	proxy   Proxy
	dialled bool
	connect int // status of the tunnel; 0 without one
}

func (a *attempt) do(ctx context.Context) (Class, error) {
	transport, err := a.transport()
	if err != nil {
		return Broken, err
	}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.proxy.Check.URL, nil)
	if err != nil {
		return Broken, err
	}
	r.Header.Set("User-Agent", "gatehouse-probe")
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return a.class(err), err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return AuthFailed, errors.New("the proxy refuses the credentials (407)")
	case !a.expected(resp.StatusCode):
		return BadStatus, fmt.Errorf("answered %d", resp.StatusCode)
	case err != nil:
		return Broken, fmt.Errorf("the answer breaks off: %w", err)
	case len(body) > maxAnswer:
		return Broken, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return a.egress(body)
}

func (a *attempt) expected(status int) bool {
	if len(a.proxy.Check.ExpectedStatus) == 0 {
		return status >= 200 && status <= 299
	}
	return slices.Contains(a.proxy.Check.ExpectedStatus, status)
}

// egress compares what the target saw.
func (a *attempt) egress(body []byte) (Class, error) {
	if !a.proxy.Check.VerifyEgress || !a.proxy.Egress.IsValid() {
		return OK, nil
	}
	seen, err := netip.ParseAddr(strings.TrimSpace(string(body)))
	if err != nil {
		return WrongEgress, errors.New("the answer is no address, which verifying the egress needs")
	}
	if seen.Unmap() != a.proxy.Egress.Unmap() {
		return WrongEgress, fmt.Errorf("the target saw %s, not %s", seen, a.proxy.Egress)
	}
	return OK, nil
}

func (a *attempt) transport() (*http.Transport, error) {
	p := a.proxy
	at := &url.URL{Scheme: p.Scheme, Host: net.JoinHostPort(p.Host, strconv.Itoa(p.Port))}
	if p.Username != "" {
		at.User = url.UserPassword(p.Username, p.Password)
	}
	hop := &tls.Config{ServerName: p.TLS.ServerName, InsecureSkipVerify: p.TLS.InsecureSkipVerify, MinVersion: tls.VersionTLS12} //nolint:gosec // as its owner asks
	if hop.ServerName == "" {
		hop.ServerName = p.Host
	}
	if p.TLS.CA != nil {
		if hop.RootCAs = x509.NewCertPool(); !hop.RootCAs.AppendCertsFromPEM(p.TLS.CA) {
			return nil, errors.New("the authority of the proxy has no certificate in PEM")
		}
	}
	dialer := &net.Dialer{KeepAlive: -1}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		a.dialled = err == nil
		return conn, err
	}
	return &http.Transport{
		Proxy: http.ProxyURL(at), DisableKeepAlives: true, DisableCompression: true, DialContext: dial,
		// With a proxy this is the hop to it; the target's TLS is the transport's own.
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			secure := tls.Client(conn, hop)
			if err := secure.HandshakeContext(ctx); err != nil {
				_ = conn.Close()
				return nil, err
			}
			return secure, nil
		},
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			a.connect = resp.StatusCode
			return nil
		},
	}, nil
}

// class says what an error of the round trip was.
func (a *attempt) class(err error) Class {
	var timeout net.Error
	switch {
	case a.connect == http.StatusProxyAuthRequired, strings.Contains(err.Error(), "username/password authentication failed"),
		strings.Contains(err.Error(), "no acceptable authentication methods"):
		return AuthFailed
	case a.connect != 0 && a.connect/100 != 2:
		return ConnectStatus
	case isTLS(err):
		return TLSFailed
	case errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case !a.dialled:
		return Dial
	case strings.Contains(err.Error(), "socks connect"):
		return ConnectStatus
	}
	return Broken
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.AlertError](err)
	return ok
}

// clean says an error in one line without the credentials, which a URL may have.
func (a *attempt) clean(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if p := a.proxy.Password; p != "" {
		text = strings.NewReplacer(p, "…", url.QueryEscape(p), "…").Replace(text)
	}
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
