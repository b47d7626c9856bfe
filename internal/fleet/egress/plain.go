package egress

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/hop"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/session"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	fleet_access "github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// plain carries requests of plain HTTP by one lease.
type plain struct {
	*session.Held
	use       *session.Use // nil while a session keeps the lease
	ask       string
	transport *http.Transport
}

// Ask implements [forward.Route].
func (r *route) Ask(ctx context.Context, g fleet_access.Grant, to destination.Target, req *http.Request) (*http.Response, *forward.Passage, error) {
	content := &content{ReadCloser: req.Body}
	resp, p, err := r.try(ctx, g, to, req, content)
	content.settle(err == nil)
	return resp, p, err
}

func (r *route) try(ctx context.Context, g fleet_access.Grant, to destination.Target, req *http.Request, content *content) (*http.Response, *forward.Passage, error) {
	ask, err := r.asked(g, to)
	if err != nil {
		return nil, nil, r.done(err)
	}
	var failed *session.Held
	var last error
	for range attempts {
		use, err := r.lease(ctx, ask, failed)
		if err != nil {
			return nil, nil, r.missed(err, failed, last)
		}
		resp, err := r.plain.send(ctx, to, req, content)
		if err == nil {
			return resp, &forward.Passage{Under: use.Under(), Told: told(use.Held), Done: r.giveBack(use)}, r.done(nil)
		}
		r.giveBack(use)()
		failed, last = use.Held, err
		if !another(err) || content.begun.Load() {
			break
		}
	}
	if another(last) {
		r.Close() // nor is it for the next request
	}
	_ = r.done(last)
	return nil, nil, by(failed, last)
}

// lease takes the lease of a session, or the one that this connection has already.
func (r *route) lease(ctx context.Context, ask session.Ask, failed *session.Held) (*session.Use, error) {
	key := ask.String()
	if p := r.plain; p != nil && p.use != nil && p.ask == key && p.Held != failed && p.Under().Err() == nil {
		return p.use, nil
	}
	use, err := r.Take(ctx, ask, failed)
	if err != nil {
		return nil, err
	}
	if r.plain == nil || r.plain.Held != use.Held {
		r.Close()
		r.plain = r.newPlain(use.Held, key)
	}
	if ask.Session == "" {
		r.plain.use = use
	}
	return use, nil
}

// giveBack is for a use that the connection does not keep until it ends.
func (r *route) giveBack(use *session.Use) func() {
	if r.plain != nil && r.plain.use == use {
		return func() {}
	}
	return use.Done
}

// Close implements [forward.Route].
func (r *route) Close() {
	if r.plain == nil {
		return
	}
	r.plain.transport.CloseIdleConnections()
	if r.plain.use != nil {
		r.plain.use.Done()
	}
	r.plain = nil
}

func (r *route) newPlain(h *session.Held, ask string) *plain {
	p := &plain{Held: h, ask: ask}
	p.transport = forward.NewTransport(func(ctx context.Context, _, address string) (net.Conn, error) {
		c, err := p.connect(ctx, address)
		if err != nil {
			return nil, err
		}
		return r.count(c), nil
	})
	return p
}

// connect reaches the proxy, or, by SOCKS, the target.
func (p *plain) connect(ctx context.Context, address string) (net.Conn, error) {
	way, err := proxyOf(p.Proxy())
	if err != nil {
		return nil, err
	}
	if way.Scheme != hop.SOCKS {
		return hop.Dial(ctx, way)
	}
	to, err := destination.ParseTarget(address)
	if err != nil {
		return nil, err
	}
	return hop.Tunnel(ctx, way, to)
}

// send asks for a whole URL, or by SOCKS the target itself.
func (p *plain) send(ctx context.Context, to destination.Target, req *http.Request, content *content) (*http.Response, error) {
	way, err := proxyOf(p.Proxy())
	if err != nil {
		return nil, err
	}
	out := *req
	empty := req.Body == nil || req.Body == http.NoBody
	if !empty {
		out.Body = content
	}
	if way.Scheme != hop.SOCKS {
		askWholly(&out, way)
	}
	resp, err := p.transport.RoundTrip(out.WithContext(ctx))
	switch {
	case err == nil && way.Scheme != hop.SOCKS && resp.StatusCode == http.StatusProxyAuthRequired:
		_ = resp.Body.Close()
		return nil, hop.Refused(resp.StatusCode, resp.Header)
	case err == nil:
		return resp, nil
	case way.Scheme != hop.SOCKS && empty && safe(req.Method) && broken(err):
		return nil, hop.Failed(err)
	}
	return nil, err
}

// safe methods may be asked twice (RFC 9110, 9.2.1).
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions || method == http.MethodTrace
}

// askWholly makes of a request what a proxy gets: for a whole URL, with the lease's
// credentials.
func askWholly(req *http.Request, p hop.Proxy) {
	u := *req.URL
	path := u.Opaque
	if path == "" {
		path = cmp.Or(u.EscapedPath(), "/")
	}
	req.Host = cmp.Or(req.Host, u.Host)
	u.Opaque, u.Host = "//"+u.Host+path, p.Address()
	req.URL = &u
	if a := p.Authorization(); a != "" {
		req.Header = req.Header.Clone() // the next attempt may be at somebody else's
		req.Header.Set("Proxy-Authorization", a)
	}
}

// broken says that a connection broke off before an answer.
func broken(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, io.EOF) || strings.Contains(err.Error(), "server closed idle connection")
}

// content is that of a request. It can be sent to another proxy as long as none of it was
// read, although net/http closes it after each attempt.
type content struct {
	io.ReadCloser // nil without content
	begun         atomic.Bool

	mu              sync.Mutex
	closed, settled bool
}

func (c *content) Read(p []byte) (int, error) {
	c.begun.Store(true)
	return c.ReadCloser.Read(p)
}

// Close is net/http's, which reads no more of it in this attempt.
func (c *content) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed = true; c.settled {
		return c.ReadCloser.Close()
	}
	return nil
}

// settle says that there is no other attempt.
func (c *content) settle(answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settled = true
	if c.ReadCloser != nil && (c.closed || !answered) {
		_ = c.ReadCloser.Close()
	}
}
