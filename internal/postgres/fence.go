package postgres

import (
	"errors"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// errFenced ends an attempt to connect to an endpoint that has left.
var errFenced = errors.New("the endpoint has left")

// fenceAgain is when a session is asked again whose relay was about to begin.
const fenceAgain = 5 * time.Millisecond

// Fence ends the sessions at a target whose endpoint has left its deployment, whatever
// is under way in them: with SQLSTATE 57P01, so that pools connect again, or without a
// word in the middle of a message of the server's. Sessions that are still being
// connected to it are connected elsewhere. Call it once the resolver's Serves denies the
// target: a session that resolved it earlier asks that again when it has entered.
func (r *Router) Fence(t discovery.Target) {
	at := placeOf(t)
	sessions := r.roster.sessionsAt(at)
	for _, s := range sessions {
		s.fence(at)
		r.meter.Fenced.WithLabelValues(s.label).Inc()
	}
	if len(sessions) > 0 {
		r.options.Log.Info("an endpoint has left, its sessions end",
			observe.KeyDeployment, t.Backend.Name(), observe.KeyAddress, t.Address, observe.KeyTotal, len(sessions))
	}
}

// fence ends a session if it is at a place.
func (s *running) fence(at place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != at {
		return
	}
	if s.relay == nil {
		s.fenced = true
		s.interrupt(errFenced)
		return
	}
	ended := s.relay.End(func() (proxy.Final, bool) { return s.lastWords(session.ErrServerLeft), true })
	if !ended { // the relay is about to begin, or it ends by itself: then soon it is nowhere
		time.AfterFunc(fenceAgain, func() { s.fence(at) })
	}
}

// lastWords are for the client, where they can stand: between two messages of the server,
// and not in TLS that is not ours.
func (s *running) lastWords(why *session.RefusalError) proxy.Final {
	if s.opaque || !s.tracker.BetweenMessages() {
		return proxy.Final{}
	}
	s.why = why
	return proxy.Final{ToA: why.Response().Append(nil)}
}
