package egress

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	client "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/hop"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/session"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress/token"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// Name is what Proxy-Status calls a super-proxy.
const Name = "gatehouse-egress"

// Config is what a super-proxy does. It is not changed after [New].
type Config struct {
	// Client asks the lease API; with its HTTPClient.
	Client *client.Client
	// Tokens are who may use it; nil for everybody.
	Tokens *token.File
	// Rules are for targets that are an address, and for ports; names are looked up by the
	// proxies, which have rules too.
	Rules destination.Rules
	// TLS is what clients shake hands with; nil for connections in clear.
	TLS    *tls.Config
	Limits forward.Limits
	// Metrics may be nil.
	Metrics Metrics
	Log     *slog.Logger
}

// Metrics counts what is asked for. Its methods may be called at once.
type Metrics interface {
	session.Metrics
	// Requested counts a request or tunnel that a client was let in for, by its outcome.
	Requested(outcome string)
}

// Outcomes of requests.
const (
	Served       = "served"
	Refused      = "refused"       // by the destination rules
	NoMatch      = "no_match"      // no proxy is free
	Unavailable  = "unavailable"   // the lease API does not answer
	ProxyFailed  = "proxy_failed"  // the leased proxies do
	TargetFailed = "target_failed" // as the proxy says
	Gone         = "gone"          // the client has
)

// Outcomes returns all of them.
func Outcomes() []string {
	return []string{Served, Refused, NoMatch, Unavailable, ProxyFailed, TargetFailed, Gone}
}

// Server is one super-proxy. Make it with [New] and run it once.
type Server struct {
	Config
	*session.Keeper
	*forward.Server
	reached reached
}

// New returns a super-proxy that Run starts.
func New(c Config) *Server {
	s := &Server{Config: c}
	s.Keeper = session.New(session.Options{Client: c.Client, Wait: min(c.Limits.Connect, maxWait), Present: present, Metrics: c.Metrics, Log: c.Log})
	s.Server = forward.New(forward.Config{
		Name: Name, Access: s.access(), Routes: routes{s}, Rules: c.Rules, TLS: c.TLS, Limits: c.Limits, Log: c.Log,
	})
	return s
}

// maxWait is how long the lease API lets anybody wait.
const maxWait = 30 * time.Second

func present(ctx context.Context, p client.Proxy) error {
	way, err := proxyOf(p)
	if err != nil {
		return err
	}
	return hop.Present(ctx, way)
}

// stopTime bounds the release of all leases.
const stopTime = 5 * time.Second

// Run serves clients of ln until ctx ends, lets what is under way go on for Limits.Drain,
// closes the rest, and releases all leases.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	err := s.Server.Run(ctx, ln)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	s.Stop(stopping)
	return err
}
