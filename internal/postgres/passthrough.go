package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/clienthello"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Why a TLS handshake goes nowhere.
var (
	errNoCertificate = errors.New("the client's host name leads to no server that TLS is passed through to, and the router offers none itself")
	errNotPassed     = errors.New("TLS is not passed through to this deployment any more")
)

// passed is TLS that a client has begun and that is for its server.
type passed struct {
	deployment string
	pooled     bool
	hello      []byte
}

// offersTLS tells whether a request for TLS is answered with yes.
func (r *Router) offersTLS() bool {
	if r.options.TLS != nil || r.options.Suffix == "" {
		return r.options.TLS != nil
	}
	for b := range r.options.Resolver.All() {
		if b.Passthrough {
			return true
		}
	}
	return false
}

// overhear reads what a client says first in TLS and tells whether that is for its
// server; else it is put back, to be answered here. Direct TLS is passed only with the
// name of PostgreSQL's protocol in it, which no server needs that was asked for TLS.
func (r *Router) overhear(ctx context.Context, c *proxy.Conn, direct bool) (*passed, error) {
	if r.options.Suffix == "" {
		return nil, nil //nolint:nilnil // no host name routes
	}
	hello, err := clienthello.Read(ctx, c)
	if errors.Is(err, clienthello.ErrTooLong) {
		return nil, &handshakeError{err}
	}
	if err == nil && (!direct || slices.Contains(hello.Protocols, tlsstore.ALPN)) {
		deployment, pooled, ok := session.ByHost(hello.ServerName, r.options.Suffix, r.options.Resolver)
		if ok && r.passesThrough(deployment, pooled) {
			return &passed{deployment, pooled, hello.Raw}, nil
		}
	}
	c.Unread(hello.Raw) // the handshake fails on what is no hello
	return nil, nil     //nolint:nilnil // it is for the router
}

// passesThrough tells whether TLS is left to the server of a deployment.
func (r *Router) passesThrough(deployment string, pooled bool) bool {
	b, _ := r.options.Resolver.Backend(deployment, pooled)
	return b.Passthrough
}

// pass connects a client to its server and carries their TLS, of which it reads nothing.
// There is no way to tell the client anything.
func (r *Router) pass(ctx context.Context, client *client) error {
	p := client.passed
	route := session.Route{Deployment: p.deployment, Pooled: p.pooled, Source: session.FromSNI}
	return r.begin(ctx, client, route, p.hello)
}

// mayGo tells whether a session may go to a target: one that is read only where its TLS
// ends here, and one that is not only where it does not.
func (s *running) mayGo(target discovery.Target) error {
	switch {
	case target.Backend.Passthrough && !s.opaque:
		return session.ByHostOnly(s.route.Deployment, s.route.Pooled, s.router.options.Suffix)
	case !target.Backend.Passthrough && s.opaque:
		return unreachable(errNotPassed)
	}
	return nil
}
