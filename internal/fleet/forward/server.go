package forward

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// forceTime is how long handlers may take once their connections are closed.
const forceTime = 10 * time.Second

// Server is one forward proxy. Make it with [New] and run it once.
type Server struct {
	Config
	conns    *proxy.Server
	counters counters
	leases   openLeases
	own      own
	draining context.Context // ends when the proxy goes away
	drain    context.CancelFunc
}

// New returns a proxy that Run starts.
func New(c Config) *Server {
	s := &Server{Config: c}
	s.own.egress = c.Egress
	s.draining, s.drain = context.WithCancel(context.Background())
	s.conns = proxy.NewServer(s.serve, proxy.Limits{Connections: c.Limits.Connections}, proxy.Watch{
		AcceptFailed: func(err error, wait time.Duration) {
			s.Log.Warn("connections cannot be accepted", keyError, err, keyWait, wait)
		},
		Refused: func(net.Addr) { s.counters.refused(errFull) },
		Evicted: func(net.Addr) { s.counters.refused(errFull) },
		Done:    s.done,
	})
	return s
}

// Run serves clients of ln until ctx ends, lets what is under way go on for
// Limits.Drain, and closes the rest. It returns nil then; the error of a listener that
// somebody else closed; or, at once, that the machine's addresses cannot be read.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	if _, err := s.own.addresses(time.Now()); err != nil {
		return errors.Join(err, ln.Close())
	}
	err := s.conns.Serve(ctx, ln)
	s.drain()
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Limits.Drain)
	defer cancel()
	if s.conns.Drain(over) == nil {
		return err
	}
	s.Log.Warn("closing connections that are still open", keyTotal, s.conns.Counts().Admitted)
	s.conns.Force()
	forced, cancel := context.WithTimeout(context.WithoutCancel(ctx), forceTime)
	defer cancel()
	return errors.Join(err, s.conns.Drain(forced))
}

// done notes a panic, which ended one connection and nothing else.
func (s *Server) done(_ *proxy.Conn, err error) {
	if p, ok := errors.AsType[*proxy.PanicError](err); ok {
		s.Log.Error("a connection ended in a panic", keyError, p, "stack", string(p.Stack))
	}
}
