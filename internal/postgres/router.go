package postgres

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/proxyprotocol"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Options say how a router serves. Zero durations have the defaults that they name.
type Options struct {
	Resolver discovery.Resolver
	// TLS is offered to clients; nil for none. Required refuses sessions in clear.
	TLS      *tlsstore.Store
	Required bool
	// Servers shakes hands with servers; nil speaks to them in clear.
	Servers *servertls.Client
	// Proxy says from whom headers of the PROXY protocol are taken; zero for nobody.
	Proxy proxyprotocol.Policy
	// Suffix is what host names of deployments end in, without the dot before it, for
	// routes by SNI; empty for none.
	Suffix string
	// Connections are the sessions at most; 0 is unlimited. Limits say more.
	Connections int
	Limits      Limits
	// StartupTimeout bounds the client's startup, TLS included (10 s); DialTimeout the
	// dial (10 s); AnswerTimeout the server's first answer (10 s).
	StartupTimeout, DialTimeout, AnswerTimeout time.Duration
	// Peers are asked about the keys of cancels that are unknown here; nil for nobody.
	Peers Peers
	// CancelOnDisconnect cancels what a session does when its client vanishes.
	CancelOnDisconnect bool
	// Waits are asked, when somebody asks whether the router is ready, what it still waits
	// for, such as "the first list of Services"; "" is nothing. Never nil functions.
	Waits []func() string
	// Endpoints are those of a backend, in order; nil where each has one, by its name.
	Endpoints func(discovery.Backend) []Endpoint
	// Problems are what is wrong with what was discovered, by reason; nil for nothing.
	Problems func() map[string]int
	// Metrics is what Router.Metrics serves; nil makes it.
	Metrics *observe.RouterMetrics
	Log     *slog.Logger
}

const defaultTimeout = 10 * time.Second

func (o Options) withDefaults() Options {
	for _, d := range []*time.Duration{&o.StartupTimeout, &o.DialTimeout, &o.AnswerTimeout} {
		if *d == 0 {
			*d = defaultTimeout
		}
	}
	return o
}

// Router serves clients of one listener. Make it with New.
type Router struct {
	options Options
	server  *proxy.Server
	ready   atomic.Bool // new sessions are welcome

	servers connector
	keys    *cancel.Registry[discovery.Target] // to where sessions run
	cancels *cancel.Limiter
	tally   *cancel.Tally[cancel.Outcome]
	lost    *lost
	last    atomic.Uint64 // number of a session

	limits  *limits
	meter   *meter
	leaving atomic.Bool
	roster  *roster
}

// New returns a router that Serve starts.
func New(o Options) *Router {
	r := &Router{
		options: o.withDefaults(), roster: newRoster(), limits: newLimits(o.Limits), meter: newMeter(o.Metrics), servers: connector{o.Servers},
		keys: cancel.NewRegistry[discovery.Target](), cancels: cancel.NewLimiter(cancelLimits, time.Now),
		tally: cancel.NewTally(cancel.Outcomes()), lost: newLost(),
	}
	r.server = proxy.NewServer(r.handle, proxy.Limits{Connections: o.Connections}, r.watch())
	return r
}

// Serve accepts from l until ctx ends; sessions go on. It closes l.
func (r *Router) Serve(ctx context.Context, l net.Listener) error { return r.server.Serve(ctx, l) }
