package peer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/time/rate"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Bounds of answering.
const (
	questionTimeout = 2 * time.Second        // from the connection to the whole question
	strangers       = 64                     // connections that have not shown a question yet
	questions       = 512                    // that are being answered
	strangersGrace  = 500 * time.Millisecond // how long each of those keeps its place
)

// ServerOptions say how a Server answers.
type ServerOptions struct {
	Keys *Keyring
	// Deliver cancels the session of this replica that has a key, and returns once its
	// server has acted: cancel.Known, cancel.Failed or cancel.Unknown. It asks nobody else.
	Deliver func(ctx context.Context, key pgwire.Key) cancel.Outcome
	// Count is told the outcome of each question.
	Count func(Outcome)
	Log   *slog.Logger
}

// Server answers the questions of other replicas. Make it with NewServer.
type Server struct {
	options ServerOptions
	server  *proxy.Server
	memory  memory
	quiet   map[Outcome]*rate.Sometimes
}

// NewServer returns a Server that Serve starts.
func NewServer(o ServerOptions) *Server {
	s := &Server{options: o, quiet: map[Outcome]*rate.Sometimes{}}
	for _, outcome := range Outcomes() {
		s.quiet[outcome] = &rate.Sometimes{Interval: logInterval}
	}
	s.server = proxy.NewServer(s.handle, proxy.Limits{Connections: questions, Extra: -1, Pending: strangers, SpokenGrace: strangersGrace}, proxy.Watch{Done: s.done})
	return s
}

// Serve answers until ctx ends, and then lets the answers under way come to their end,
// for AskTimeout at most. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	err := s.server.Serve(ctx, l)
	s.server.Stop()
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionTimeout)
	defer cancel()
	if s.server.Drain(rest) != nil {
		s.server.Force()
	}
	return err
}

// handle answers one question, or drops it without a word.
func (s *Server) handle(ctx context.Context, c *proxy.Conn) error {
	ctx, done := context.WithTimeout(ctx, AskTimeout)
	defer done()
	if err := c.SetDeadline(time.Now().Add(questionTimeout)); err != nil {
		return err
	}
	packet, err := readQuestion(c)
	if err != nil {
		return err
	}
	q, secret, err := open(s.options.Keys.Secrets(), packet)
	if err != nil {
		return err
	}
	if err := s.memory.admit(q, time.Now()); err != nil {
		return err
	}
	if !c.Admit() {
		return errBusy
	}
	verdict := s.deliver(ctx, q.Key)
	s.options.Count(answered[verdict])
	if err := c.SetDeadline(time.Now().Add(questionTimeout)); err != nil {
		return err
	}
	_, err = c.Write(secret.answerTo(q.Nonce, verdict))
	return err
}

func (s *Server) deliver(ctx context.Context, key pgwire.Key) Verdict {
	switch s.options.Deliver(ctx, key) {
	case cancel.Known:
		return Delivered
	case cancel.Failed:
		return Failed
	default:
		return NotMine
	}
}

// done counts and logs the questions that were dropped. A connection that says nothing
// is a port check.
func (s *Server) done(c *proxy.Conn, err error) {
	if err == nil || errors.Is(err, io.EOF) {
		return
	}
	if bug, ok := errors.AsType[*proxy.PanicError](err); ok {
		s.options.Log.Error("a question of a cancel peer ended by a bug", observe.KeyError, bug)
		return
	}
	outcome := dropped(err)
	s.options.Count(outcome)
	s.quiet[outcome].Do(func() {
		s.options.Log.Warn("a question about a cancel was dropped", observe.KeyAddress, c.RemoteAddr().String(), observe.KeyReason, string(outcome), observe.KeyError, err)
	})
}
