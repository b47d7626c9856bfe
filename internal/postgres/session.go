package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// session connects a client to its server and carries their bytes until one ends.
func (r *Router) session(ctx context.Context, c *client, startup pgwire.Packet) error {
	route, err := session.Decide(startup.Parameters, c.host, r.options.Suffix, r.options.Resolver)
	if err != nil {
		return c.refuse(err)
	}
	startup.Parameters = route.Parameters
	packet, err := startup.Append(nil)
	if err != nil {
		return err
	}
	return r.begin(ctx, c, route, packet)
}

// begin makes a session of a client and its route; first is what the server gets first.
func (r *Router) begin(ctx context.Context, c *client, route session.Route, first []byte) error {
	if err := c.conn.SetDeadline(time.Time{}); err != nil { // the startup is over
		return err
	}
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	s := &running{
		router: r, route: route, client: c.conn, sees: c.sees, opaque: c.passed != nil, cut: cut, label: r.label(route),
		origin: originOf(backendName(route), addressOf(c.conn.RemoteAddr())), stages: stages{began: c.began, started: time.Now()},
	}
	r.meter.phase(phaseStartup, s.stages.started.Sub(c.began))
	s.target.Session = cancel.Session(r.last.Add(1))
	err := s.run(ctx, c, first)
	s.count(err)
	if err == nil {
		return nil
	}
	return sessionError{err, backendName(route), route.User}
}

// run connects a session to its server and carries it to its end.
func (s *running) run(ctx context.Context, c *client, first []byte) error {
	r := s.router
	if refusal := r.limits.enter(s.origin); refusal != nil {
		return c.refuse(refusal)
	}
	defer r.limits.leave(s.origin)
	r.roster.enter(s)
	defer s.exit()
	if r.leaving.Load() {
		return c.refuse(session.ErrLeaving)
	}
	if err := s.reach(ctx, first); err != nil {
		return c.refuse(err)
	}
	s.arrived()
	return s.carry(ctx)
}

// running is a session, from its route to its end.
type running struct {
	router *Router
	route  session.Route
	origin origin
	label  string // of metrics
	client net.Conn
	sees   []byte                  // the certificate that the client sees, in DER, where that matters
	opaque bool                    // its TLS is the server's: nothing is read, or said
	cut    context.CancelCauseFunc // ends it without a word

	mu        sync.Mutex
	at        place                   // zero between attempts
	interrupt context.CancelCauseFunc // ends the attempt to connect there
	fenced    bool                    // the endpoint there has left
	relay     *proxy.Relay            // nil until its server is reached
	server    net.Conn                // likewise

	target  cancel.Target[discovery.Target]
	tracker pgwire.Tracker
	ready   bool                  // the login is over
	refused bool                  // by the server
	key     pgwire.Key            // learnt, or zero
	why     *session.RefusalError // that the client was told at the end; the relay's
	greeted atomic.Bool
	stages  stages

	silences [2]silence // of client and server; cutUnreachable's
}

// exit takes the session out of the books.
func (s *running) exit() {
	s.depart()
	s.router.roster.exit(s)
}

// carry carries a session that has reached its server to its end.
func (s *running) carry(ctx context.Context) error {
	silent := time.AfterFunc(s.router.options.AnswerTimeout, s.giveUp)
	defer silent.Stop()
	result := s.relay.Run(ctx)
	s.router.meter.Ended.WithLabelValues(s.label, s.endedBy(result.First)).Inc()
	s.ended(ctx, result.First)
	s.router.keys.Forget(s.key, s.target.Session)
	if s.why != nil && !s.ready {
		return fmt.Errorf("%w: it was at %s", s.why, s.server.RemoteAddr())
	}
	return errors.Join(result.ErrA, result.ErrB, context.Cause(ctx), s.left(result.First))
}

// fromClient sees what the client sends, before the server gets it.
func (s *running) fromClient(chunk []byte) proxy.Verdict {
	if s.opaque {
		return proxy.Verdict{}
	}
	if s.tracker.Frontend(chunk) != nil {
		return proxy.Verdict{Stop: true}
	}
	if !s.ready {
		return s.answered()
	}
	return proxy.Verdict{}
}

// fromServer sees what the server sends, before the client gets it.
func (s *running) fromServer(chunk []byte) proxy.Verdict {
	if !s.greeted.Load() {
		s.greet()
	}
	if s.opaque {
		return proxy.Verdict{}
	}
	s.tracker.Backend(chunk)
	if !s.ready && s.login() {
		return s.stop(0, session.ErrMD5)
	}
	if s.router.leaving.Load() && s.tracker.Seal() {
		return s.stop(len(chunk), session.ErrLeaving)
	}
	return proxy.Verdict{}
}

// backendName is the name of where a route leads.
func backendName(r session.Route) string {
	return discovery.Backend{Deployment: r.Deployment, Pooled: r.Pooled}.Name()
}

// login learns what the login has told so far. It tells whether that is in vain: the
// server asks for an md5 password, nobody has sent one yet, and the client would hash
// it with another name than the server's.
func (s *running) login() (vain bool) {
	login := s.tracker.Login()
	if s.ready = login.Ready; s.ready {
		s.loggedIn()
	}
	s.learn()
	if s.key == (pgwire.Key{}) && login.Key != (pgwire.Key{}) {
		s.key = login.Key
		s.router.keys.Learn(s.key, s.target)
	}
	return s.route.Renamed && login.Answers == 0 && login.Asked(pgwire.AuthMD5)
}

// stop ends a session after some bytes of a chunk with last words to the client.
func (s *running) stop(forward int, why *session.RefusalError) proxy.Verdict {
	s.why = why
	return proxy.Verdict{Stop: true, Forward: forward, Final: proxy.Final{ToA: why.Response().Append(nil)}}
}

// giveUp ends a session whose server has not answered the startup packet.
func (s *running) giveUp() {
	s.relay.End(func() (proxy.Final, bool) {
		if s.greeted.Load() {
			return proxy.Final{}, false
		}
		return s.lastWords(session.ErrSilent), true
	})
}
