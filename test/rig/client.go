package rig

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/backend"
)

// requestTimeout bounds one request of the rig.
const requestTimeout = 5 * time.Second

// Request is one request through a proxy.
type Request struct {
	Port   uint16
	Method string // empty is GET
	Host   string // of the Host header, and of the TLS handshake unless SNI is set
	Path   string // with query; empty is "/"
	Header http.Header
	// Roots makes it an HTTPS request that trusts them.
	Roots *x509.CertPool
	SNI   string
	// Certificates are those of the client, with Roots.
	Certificates []tls.Certificate
	HTTP2        bool // with Roots
}

// Response is what came back.
type Response struct {
	Status int
	Header http.Header
	Body   string
	// Answer is zero unless a backend of the rig answered.
	Answer backend.Answer
	TLS    *tls.ConnectionState
}

// Do sends one request on a connection of its own. Redirects are not followed.
func Do(ctx context.Context, r Request) (Response, error) {
	t := transport(r)
	defer t.CloseIdleConnections()
	return send(ctx, t, r)
}

// Client sends requests to one address over connections that it keeps.
type Client struct{ transport *http.Transport }

// NewClient returns a Client for requests like r: same port, TLS and protocol.
func NewClient(r Request) *Client { return &Client{transport: transport(r)} }

// Do sends one request. Redirects are not followed.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	return send(ctx, c.transport, r)
}

// Close closes the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

func transport(r Request) *http.Transport {
	address := netip.AddrPortFrom(Loopback, r.Port).String()
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
		DisableCompression: true,
		ForceAttemptHTTP2:  r.HTTP2,
	}
	if r.Roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: r.Roots, ServerName: serverName(r), Certificates: r.Certificates, MinVersion: tls.VersionTLS12}
	}
	return t
}

func serverName(r Request) string {
	if r.SNI != "" {
		return r.SNI
	}
	host, _, _ := strings.Cut(r.Host, ":")
	return host
}

func send(ctx context.Context, t *http.Transport, r Request) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := r.build(ctx)
	if err != nil {
		return Response{}, err
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return Response{}, fmt.Errorf("%s %s: %w", req.Method, req.URL, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return Response{}, fmt.Errorf("%s %s: read the answer: %w", req.Method, req.URL, err)
	}
	answer, _ := backend.ReadAnswer(body)
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: string(body), Answer: answer, TLS: resp.TLS}, nil
}

func (r Request) build(ctx context.Context) (*http.Request, error) {
	scheme := "http"
	if r.Roots != nil {
		scheme = "https"
	}
	path := r.Path
	if path == "" {
		path = "/"
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, scheme+"://"+r.Host+path, nil)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return req, nil
}

// dial connects to a port until the deadline of ctx, which is also the connection's.
func dial(ctx context.Context, network string, port uint16) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, netip.AddrPortFrom(Loopback, port).String())
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Greeting connects to a TCP port and returns the name of the backend that
// answers there, after it echoed what was sent.
func Greeting(ctx context.Context, port uint16) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	conn, err := dial(ctx, "tcp", port)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	name, err := lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read the greeting: %w", err)
	}
	if _, err := io.WriteString(conn, "echo\n"); err != nil {
		return "", err
	}
	echo, err := lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read the echo: %w", err)
	}
	if echo != "echo\n" {
		return "", fmt.Errorf("the backend echoed %q, want %q", echo, "echo\n")
	}
	return strings.TrimSuffix(name, "\n"), nil
}
