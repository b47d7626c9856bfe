package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Waits between attempts to connect, each about twice the one before.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// Why a session that is being connected ends.
var (
	errClientGone = errors.New("the client has gone before its server was reached")
	errTooLate    = errors.New("the dial timeout is over")
)

// reach connects to a server of the route and sends it first. A deployment without a
// server that is ready is waited for, and a failed attempt is made again, at another
// endpoint where there is one, until the dial timeout. An error holds a
// [*session.RefusalError], unless the client has gone. A client that waits is not read.
func (s *running) reach(ctx context.Context, first []byte) error {
	ctx, done := context.WithTimeoutCause(ctx, s.router.options.DialTimeout, errTooLate)
	var watch sync.WaitGroup
	watch.Go(func() {
		if base := polled(s.client); base != nil && base.AwaitClosed(ctx) {
			s.cut(errClientGone)
		}
	})
	err := s.attempts(ctx, first)
	cause := context.Cause(ctx)
	done()
	watch.Wait()
	if err != nil && cause != nil && !errors.Is(cause, errTooLate) {
		return cause
	}
	return err
}

// polled is the connection that the server accepted, under TLS.
func polled(c net.Conn) *proxy.Conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	base, _ := c.(*proxy.Conn)
	return base
}

// attempts tries until a server is connected, or ctx ends, or it is in vain.
func (s *running) attempts(ctx context.Context, first []byte) error {
	var tried []string // without a pause in between
	var failed error   // the last attempt
	wait := firstPause
	for {
		changed := s.router.options.Resolver.Changed() // before it is asked: no change is missed
		target, err := s.resolve(tried)
		if err != nil {
			if _, soon := errors.AsType[*discovery.NotReadyError](err); soon && hold(ctx, changed) {
				continue
			}
			return err
		}
		if slices.Contains(tried, target.Address) {
			if _, hopeless := errors.AsType[*servertls.Error](failed); hopeless {
				return fmt.Errorf("%w: %w", session.ErrInsecure, failed)
			}
			if !pause(ctx, spread(wait)) {
				return unreachable(fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), failed))
			}
			tried, wait = nil, min(2*wait, lastPause)
		}
		if failed = s.attempt(ctx, target, first); failed == nil {
			return nil
		}
		if ctx.Err() != nil {
			return unreachable(failed)
		}
		tried = append(tried, target.Address)
	}
}

func unreachable(cause error) error { return fmt.Errorf("%w: %w", session.ErrUnreachable, cause) }

// askAgain is how often a resolver that has several endpoints may name one that was tried.
const askAgain = 4

// resolve names an endpoint, one that was not tried if the resolver has another.
func (s *running) resolve(tried []string) (discovery.Target, error) {
	for i := 1; ; i++ {
		target, err := s.router.options.Resolver.Resolve(s.route.Deployment, s.route.Pooled)
		if err == nil {
			err = s.mayGo(target)
		}
		if err != nil || len(tried) == 0 || i == askAgain || !slices.Contains(tried, target.Address) {
			return target, err
		}
	}
}

// hold waits until something else may be resolved. It is false if ctx ends first.
func hold(ctx context.Context, changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	case <-ctx.Done():
		return false
	}
}

// spread is half of d to one and a half: not all clients come back at once.
func spread(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // no secret
}

// attempt connects to one endpoint. The session is at its place from before the resolver
// is asked whether that still serves, so that no fence misses it.
func (s *running) attempt(ctx context.Context, target discovery.Target, first []byte) error {
	ctx, done := context.WithTimeout(ctx, s.router.options.attemptTimeout())
	defer done()
	ctx, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	s.arrive(placeOf(target), interrupt)
	began := time.Now()
	defer func() { s.stages.dialling += time.Since(began) }()
	err := errFenced
	if s.router.options.Resolver.Serves(target) {
		var server net.Conn
		if server, err = s.router.servers.connect(ctx, target, first); err == nil {
			err = s.join(ctx, target, server)
		}
	}
	if err != nil {
		s.depart()
	}
	return err
}

// mostRecord is the largest TLS record that PostgreSQL's servers send: that of their
// buffer. libpq makes room for as much before it reads, and clients that wait with select,
// as pg_basebackup does, never learn of the rest of a larger one.
const mostRecord = 8192

// join makes the relay of a session that has reached its server, unless that has left.
func (s *running) join(ctx context.Context, target discovery.Target, server net.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fenced {
		return errors.Join(errFenced, server.Close())
	}
	s.target.Address, s.server = target, server
	s.target.Address.Address = server.RemoteAddr().String() // of a name with several addresses, this one
	s.relay = proxy.NewRelay(s.client, server, proxy.Options{
		FromA: s.fromClient, FromB: s.fromServer, Record: mostRecord,
		Ended: func(who proxy.Party) { s.vanished(ctx, who) },
	})
	return nil
}

// arrive and depart say where a session is; interrupt ends its attempt to connect there.
func (s *running) arrive(at place, interrupt context.CancelCauseFunc) {
	s.mu.Lock()
	s.at, s.interrupt, s.fenced = at, interrupt, false
	s.mu.Unlock()
	s.router.roster.arrive(s, at)
}

func (s *running) depart() {
	s.mu.Lock()
	at := s.at
	s.at, s.interrupt = place{}, nil
	s.mu.Unlock()
	s.router.roster.depart(s, at)
}

// attemptTimeout bounds one attempt, so that an endpoint that swallows packets leaves
// time for another.
func (o Options) attemptTimeout() time.Duration {
	return max(o.DialTimeout/3, min(time.Second, o.DialTimeout))
}
