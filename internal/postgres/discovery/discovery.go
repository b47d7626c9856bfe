// Package discovery tells which server a deployment's sessions go to: it turns a table
// of backends, written down by an operator or found by a package below it, into
// constant-time answers. It dials nothing.
package discovery

import (
	"iter"
	"net"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
)

// Backend is where one form of a deployment is served: itself, or its pooler.
type Backend struct {
	Deployment string
	Pooled     bool
	// Host is a DNS name or an IP address, without brackets.
	Host string
	// Port is 1 to 65535.
	Port uint16
	// Passthrough leaves TLS to client and server: the router routes by host name, and
	// reads nothing else.
	Passthrough bool
	// Service is the "namespace/name" that it was found by; empty for a static one.
	Service string
}

// Name is the backend's id in a static table: "orders" or "orders.pool".
func (b Backend) Name() string {
	if b.Pooled {
		return b.Deployment + pooledSuffix
	}
	return b.Deployment
}

// Address is host:port, as a dialer takes it.
func (b Backend) Address() string {
	return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
}

// Target is what a new session is to dial.
type Target struct {
	Backend Backend
	// Address is host:port of an endpoint that is ready.
	Address string
}

// Resolver finds the server of a deployment. All of it may be called at any time, from
// any goroutine, and answers from memory.
type Resolver interface {
	session.Deployments
	// Backend returns the backend of a form of a deployment, ready or not; false where it
	// is not known. It picks no endpoint.
	Backend(deployment string, pooled bool) (Backend, bool)
	// Resolve returns what a new session dials, in constant time. The error is an
	// [*UnknownError] or a [*NotReadyError].
	Resolve(deployment string, pooled bool) (Target, error)
	// Serves tells whether sessions may stay at a target: whether its endpoint is still
	// listed, ready or not.
	Serves(Target) bool
	// Changed returns a channel that is closed once Resolve may answer something else
	// than it does at this call; nil where that never happens.
	Changed() <-chan struct{}
	// All returns every backend, by deployment, the pooled one after the other.
	All() iter.Seq[Backend]
}
