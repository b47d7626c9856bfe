package host

import (
	"context"
	"log/slog"
	"math/rand/v2"
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
	// KeepProxies lets Envoys outlive this process; the next one adopts them. Under
	// systemd that needs KillMode=process.
	KeepProxies bool
	// DrainTimeout is how long a stopping Envoy finishes requests; default 5 s.
	DrainTimeout time.Duration
	// DrainTime is Envoy's own; default DrainTime.
	DrainTime time.Duration
	// MaxPause is the longest pause before a restart; default 30 s.
	MaxPause time.Duration
	// Isolated runs Envoys in network namespaces of their own, which reach nothing but
	// Unix sockets, where the kernel lets this user make any.
	Isolated bool
	// Nice lowers the priority of Envoys; see setpriority(2).
	Nice int
	// Log is for what is no Event; default: nothing is logged.
	Log *slog.Logger
	// Observe is called for each Event from the supervisor's goroutines, in order
	// per process; it must not block.
	Observe func(Event)
	// Jitter returns a number in [0, 1) that spreads restarts; default random.
	Jitter func() float64
}

func (o Options) withDefaults() Options {
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 5 * time.Second
	}
	if o.DrainTime == 0 {
		o.DrainTime = DrainTime
	}
	if o.MaxPause == 0 {
		o.MaxPause = maxPause
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(Event) {}
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	return o
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

// Event is a change in one proxy's life. The end of a process that was replaced
// may be told after the start of the next: Node tells them apart.
type Event struct {
	Kind    EventKind
	Gateway model.GatewayID
	// Node is the proxy's xDS node id: unique to one start of a process.
	Node string
	PID  int // 0 if it could not be started
	// Err of Exited is why: an *ExitError, or why it could not be started; nil if it was told to end.
	Err     error
	Restart time.Duration // of Exited: when it is started again; 0 if at once or not at all
	Again   bool          // of Exited: whether it is started again
}

// call bounds for Envoy's admin interface, which answers in milliseconds.
const (
	adminTimeout = 2 * time.Second
	dumpTimeout  = 30 * time.Second
)

// WarmingListeners asks a Gateway's Envoy, over its admin socket, how many listeners
// wait for what they need. Without a running Envoy the error is ErrNotRunning.
func (s *Supervisor) WarmingListeners(ctx context.Context, g model.GatewayID) (int, error) {
	p, err := s.running(g)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return p.admin.warmingListeners(ctx)
}

// ClustersWithHosts asks a Gateway's Envoy which clusters have a host now, in
// order. A cluster that is warming still is not among them. Without a running Envoy the error is ErrNotRunning.
func (s *Supervisor) ClustersWithHosts(ctx context.Context, g model.GatewayID) ([]string, error) {
	p, err := s.running(g)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return p.admin.clustersWithHosts(ctx)
}

// Answers returns nil if a Gateway's Envoy answers on its admin socket before ctx ends,
// live or not. Without a running Envoy the error is ErrNotRunning.
func (s *Supervisor) Answers(ctx context.Context, g model.GatewayID) error {
	p, err := s.running(g)
	if err != nil {
		return err
	}
	return p.admin.answers(ctx)
}

// Restart ends a Gateway's Envoy at once, hanging or not; another takes its place.
func (s *Supervisor) Restart(g model.GatewayID) error {
	p, err := s.running(g)
	if err != nil {
		return err
	}
	return p.kill()
}

// ConfigDump returns Envoy's own configuration dump with secrets redacted by
// Envoy. Without a running Envoy the error is ErrNotRunning.
func (s *Supervisor) ConfigDump(ctx context.Context, g model.GatewayID) ([]byte, error) {
	p, err := s.running(g)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dumpTimeout)
	defer cancel()
	return p.admin.get(ctx, "/config_dump?include_eds")
}
