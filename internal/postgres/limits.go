package postgres

import (
	"net/netip"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/limit"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
)

// Limits are what one deployment, or one network of clients (/24, /64), may take of a
// router. Zero is no limit.
type Limits struct {
	// PerDeployment and PerNetwork are sessions at once. A deployment's pooler counts
	// apart from it.
	PerDeployment, PerNetwork int
	// AuthFailures are the logins of one network that a deployment may refuse within
	// AuthWindow (1 min) before further ones are not passed on.
	AuthFailures int
	AuthWindow   time.Duration
}

// origin is who may fail to log in: a network, at a deployment.
type origin struct {
	backend string // as Backend.Name has it
	network netip.Prefix
}

// maxOrigins bounds what is remembered of failures.
const maxOrigins = 8192

// limits count what Limits limit.
type limits struct {
	backends *limit.Census[string]
	networks *limit.Census[netip.Prefix]
	failures *limit.Buckets[origin]
}

func newLimits(l Limits) *limits {
	if l.AuthWindow == 0 {
		l.AuthWindow = time.Minute
	}
	return &limits{
		backends: limit.NewCensus[string](l.PerDeployment), networks: limit.NewCensus[netip.Prefix](l.PerNetwork),
		failures: limit.NewBuckets[origin](limit.Rate{
			PerSecond: float64(l.AuthFailures) / l.AuthWindow.Seconds(), Burst: l.AuthFailures, Keys: maxOrigins,
		}, time.Now),
	}
}

// enter counts a session, until leave, or refuses it.
func (l *limits) enter(o origin) *session.RefusalError {
	switch {
	case !l.failures.Has(o):
		return session.ErrAuthFailures
	case !l.networks.Enter(o.network):
		return session.ErrTooManyOfNetwork
	case !l.backends.Enter(o.backend):
		l.networks.Leave(o.network)
		return session.ErrTooManyOfDeployment
	}
	return nil
}

func (l *limits) leave(o origin) {
	l.networks.Leave(o.network)
	l.backends.Leave(o.backend)
}

// SQLSTATEs with which a server refuses a login.
const (
	invalidPassword      = "28P01"
	invalidAuthorization = "28000"
)

// learn counts a login that the server has refused. The client is told so by the server.
func (s *running) learn() {
	if s.refused {
		return
	}
	switch s.tracker.LastError().SQLSTATE {
	case invalidPassword, invalidAuthorization:
		s.refused = true
		s.router.limits.failures.Owe(s.origin)
		s.router.meter.AuthFailures.WithLabelValues(s.label).Inc()
		s.router.options.Log.Debug("login refused by the server", append([]any{
			observe.KeyAddress, s.client.RemoteAddr().String(),
			observe.KeyReason, s.tracker.LastError().SQLSTATE,
		}, named(backendName(s.route), s.route.User)...)...)
	}
}

func originOf(backend string, client netip.Addr) origin {
	return origin{backend: backend, network: cancel.Network(client)}
}
