package postgres

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// Peers that cannot be reached are noticed within unreachableAfter and one look more.
const (
	unreachableAfter = 30 * time.Second
	lookEvery        = 10 * time.Second
)

// errPeerUnreachable cuts a session one of whose sides does not answer.
var errPeerUnreachable = errors.New("a side of the session cannot be reached any more")

// silence is since when one side has not acknowledged what it was sent; zero if it has.
type silence struct{ since time.Time }

// long looks once, and tells whether nothing at all has come back for so long. A side
// that has stopped reading, as a client in a pager or a server that waits for a lock,
// still acknowledges, and may take its time: its kernel is silent for about a second,
// while it drops what it has no room for, and then says that it has none.
func (s *silence) long(c net.Conn, limit time.Duration) bool {
	waits, last := proxy.Unanswered(c)
	now := time.Now()
	switch {
	case !waits:
		s.since = time.Time{}
	case s.since.IsZero(), now.Add(-last).After(s.since):
		s.since = now
	}
	return waits && now.Sub(s.since) >= limit
}

// cutUnreachable looks at all sessions in turn until ctx ends, and cuts those that lost a
// side. Keepalive does so while nothing is sent; what is sent would else be sent again
// for a quarter of an hour.
func (r *Router) cutUnreachable(ctx context.Context, every, limit time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C: // whose time may be long ago
			for _, s := range r.roster.sessions() {
				s.look(limit)
			}
		}
	}
}

// look is called by one goroutine.
func (s *running) look(limit time.Duration) {
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	if server == nil {
		return
	}
	if s.silences[0].long(s.client, limit) || s.silences[1].long(server, limit) {
		s.cut(errPeerUnreachable)
	}
}
