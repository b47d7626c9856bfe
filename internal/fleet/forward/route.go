package forward

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// Access decides who may use a proxy. Its methods are called at once and do not block.
type Access interface {
	// Decide returns what a client may do. Given is nil for one that showed nothing. Errors
	// are those of package access, and *[RefusalError].
	Decide(source netip.Addr, given *access.Given, now time.Time) (access.Grant, error)
	// Asks says whether there is anything that a client could show.
	Asks() bool
}

// Routes makes a Route for each connection of a client. Its method is called at once.
// What is not the connection of a tunnel is counted by count.
type Routes interface {
	Route(count func(net.Conn) net.Conn) Route
}

// Route is how one connection of a client reaches targets. Its methods are called one
// after the other. Their errors are those that a dial has, *[RefusalError] and *[RouteError].
type Route interface {
	// Tunnel connects to a target.
	Tunnel(ctx context.Context, g access.Grant, to destination.Target) (*Passage, error)
	// Ask sends a request of plain HTTP, which has nothing in it that is for a proxy. It
	// closes the content of the request, also when it fails.
	Ask(ctx context.Context, g access.Grant, to destination.Target, req *http.Request) (*http.Response, *Passage, error)
	// Close ends what is kept between requests.
	Close()
}

// Passage is what was opened by a Route. A nil one is like one without anything.
type Passage struct {
	// Conn is connected to the target; only of tunnels.
	Conn net.Conn
	// Under ends with what allows the passage; its cause is a reason. Nil does not end.
	Under context.Context
	Told
	// Done is called once, at the end; nil is nothing to do.
	Done func()
}

// Told is what a client is told of a way, whatever becomes of it.
type Told struct {
	// NextHop is the value of next-hop in Proxy-Status (RFC 9209, 2.1.2); empty for none.
	NextHop string
	// Header has further fields.
	Header http.Header
}

// RouteError is why a target was not reached by a route that tells of itself. Members of
// Proxy-Status in its Header are those of proxies further on.
type RouteError struct {
	RefusalError
	Told
}

// Unwrap returns the refusal.
func (e *RouteError) Unwrap() error { return &e.RefusalError }

func (p *Passage) done() {
	if p != nil && p.Done != nil {
		p.Done()
	}
}

// follow ends what goes by the passage when that ends; what it returns forgets it.
func (p *Passage) follow(cancel context.CancelCauseFunc) (forget func()) {
	if p == nil || p.Under == nil {
		return func() {}
	}
	stop := context.AfterFunc(p.Under, func() { cancel(context.Cause(p.Under)) })
	return func() { stop() }
}

// tell adds what the client is told, nearest proxy last (RFC 9209, 2).
func (x *session) tell(h http.Header, t Told) {
	maps.Copy(h, t.Header)
	if t.NextHop != "" {
		h.Add(proxyStatusField, x.Name+"; next-hop="+quoted(t.NextHop))
	}
}

// direct connects to targets from here, as the rules allow.
type direct struct {
	*session
	transport *http.Transport // nil before the first request
}

// Tunnel implements Route.
func (d *direct) Tunnel(ctx context.Context, _ access.Grant, to destination.Target) (*Passage, error) {
	c, err := d.dial(ctx, to)
	return &Passage{Conn: c}, err
}

// Ask implements Route.
func (d *direct) Ask(_ context.Context, _ access.Grant, _ destination.Target, req *http.Request) (*http.Response, *Passage, error) {
	if d.transport == nil {
		d.transport = NewTransport(d.dialCounted)
	}
	resp, err := d.transport.RoundTrip(req)
	return resp, nil, err
}

// Close implements Route.
func (d *direct) Close() {
	if d.transport != nil {
		d.transport.CloseIdleConnections()
	}
}

func (d *direct) dialCounted(ctx context.Context, _, address string) (net.Conn, error) {
	to, err := destination.ParseTarget(address)
	if err != nil {
		return nil, errTarget
	}
	c, err := d.dial(ctx, to)
	if err != nil {
		return nil, err
	}
	return d.count(c), nil
}

// count counts what passes by a connection to a target.
func (s *Server) count(c net.Conn) net.Conn { return &counted{Conn: c, counters: &s.counters} }

// NewTransport makes what carries the requests of one client connection. Nobody else
// uses its connections: some targets authenticate connections.
func NewTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext: dial,
		Protocols:   protocols, DisableCompression: true, MaxIdleConns: 8, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
		ExpectContinueTimeout: 2 * time.Second, MaxResponseHeaderBytes: 256 << 10,
	}
}
