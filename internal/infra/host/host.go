package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// Options say how proxies run.
type Options struct {
	// Envoy is the path of the Envoy binary.
	Envoy string
	// StateDir holds one folder per Gateway: bootstrap, log, sockets.
	StateDir string
	// XDSSocket is the Unix socket on which Gatehouse serves ADS.
	XDSSocket string
	// KeepProxies lets Envoys outlive this process; the next one adopts them.
	KeepProxies bool
	// DrainTimeout is how long a stopping Envoy finishes requests; default 5 s.
	DrainTimeout time.Duration
	Log          *slog.Logger
	// Observe is called for each Event from the supervisor's goroutines; it must not block.
	Observe func(Event)
}

// Supervisor runs the proxies.
type Supervisor struct{}

// New returns a Supervisor without proxies; it adopts or ends those that an
// earlier process left in StateDir.
func New(ctx context.Context, o Options) (*Supervisor, error) { panic("todo") }

// Ensure makes the set of running proxies equal to the Gateways; it does not
// wait for them.
func (s *Supervisor) Ensure(gateways []model.Gateway) { panic("todo") }

// Listeners asks a Gateway's Envoy, over its admin socket, which listeners it
// has and whether any is still warming.
func (s *Supervisor) Listeners(ctx context.Context, g model.GatewayID) (Listeners, error) {
	panic("todo")
}

// ConfigDump returns Envoy's own configuration dump with secrets redacted by Envoy.
func (s *Supervisor) ConfigDump(ctx context.Context, g model.GatewayID) ([]byte, error) {
	panic("todo")
}

// Stop drains and ends all proxies (or, with KeepProxies, leaves them) and waits.
func (s *Supervisor) Stop(ctx context.Context) error { panic("todo") }

// Listeners are what one Envoy listens on.
type Listeners struct {
	Warming int
	Active  map[string]string // listener name to bound address "ip:port"
}

// EventKind tells Events apart.
type EventKind string

// Kinds of events.
const (
	Started EventKind = "started"
	Ready   EventKind = "ready" // the admin socket answers LIVE
	Exited  EventKind = "exited"
	Adopted EventKind = "adopted"
)

// Event is a change in one proxy's life.
type Event struct {
	Kind    EventKind
	Gateway model.GatewayID
	PID     int
	Err     error         // of Exited
	Restart time.Duration // of Exited: when it is started again; 0 if not
}
