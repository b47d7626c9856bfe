package discovery

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// TokenVariable is the variable of the environment that has the bearer token.
const TokenVariable = "DISCOVERY_TOKEN" //nolint:gosec // its name

// Bounds of a request.
const (
	// MaxBody is how many bytes a body has at most.
	MaxBody = 64 << 10
	// MaxWait is how long a request for a lease waits at most.
	MaxWait = lease.MaxWait
)

// Reasons not to serve, for [Options.Serving].
var (
	// ErrStarting means that proxies and leases are still being read.
	ErrStarting = errors.New("starting: proxies and leases are still being read")
	// ErrNotLeading means that another process grants leases.
	ErrNotLeading = errors.New("another replica leads, and grants the leases")
)

// Metrics counts what was asked. Its methods may be called at once.
type Metrics interface {
	// LeaseRequest counts a request for a lease by its outcome: [Granted], or the [Code]
	// that it was refused with.
	LeaseRequest(outcome string)
}

// Granted is the outcome of a request that got a lease.
const Granted = "granted"

// Options are what an API is made of. Store, Book, Log and Now are needed.
type Options struct {
	Store lease.Granter
	// Book has the proxies that answers are about.
	Book offer.Book
	// Serving returns nil, or why this process does not grant leases now: [ErrStarting],
	// [ErrNotLeading], or an error that wraps one of them. Nil serves always.
	Serving func() error
	// Elsewhere returns who answers a request in the place of this process, nil where it
	// answers itself; nil always does.
	Elsewhere func(*http.Request) http.Handler
	// Token is what requests must bear; empty lets everybody in.
	Token   string
	Metrics Metrics // may be nil
	Log     *slog.Logger
	Now     func() time.Time
}
