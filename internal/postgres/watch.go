package postgres

import (
	"errors"
	"net"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/proxyprotocol"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// watch logs what happens to connections. A port check says nothing and is not logged.
func (r *Router) watch() proxy.Watch {
	log := r.options.Log
	return proxy.Watch{
		AcceptFailed: func(err error, wait time.Duration) {
			r.meter.AcceptFailures.Inc()
			log.Warn("no connection can be accepted", observe.KeyError, err, observe.KeyRestart, wait)
		},
		Refused: func(net.Addr) { r.meter.Dropped.WithLabelValues("full").Inc() },
		Evicted: func(net.Addr) { r.meter.Dropped.WithLabelValues("evicted").Inc() },
		Done: func(c *proxy.Conn, err error) {
			r.meter.countConnection(err)
			peer := c.RemoteAddr().String()
			if bug, ok := errors.AsType[*proxy.PanicError](err); ok {
				log.Error("a session ended by a bug", append(whose(peer, err), observe.KeyError, bug)...)
				return
			}
			if refusal, ok := errors.AsType[*session.RefusalError](err); ok {
				log.Info("session refused", append(whose(peer, err), refused(refusal, err)...)...)
				return
			}
			if closed, ok := errors.AsType[*proxyprotocol.RefusedError](err); ok {
				r.meter.Dropped.WithLabelValues("untrusted").Inc()
				log.Info("connection closed", observe.KeyAddress, peer, observe.KeyError, closed)
				return
			}
			if left, ok := errors.AsType[*leftError](err); ok {
				log.Info("session ended", append(whose(peer, err), observe.KeyError, left)...)
				return
			}
			if err != nil {
				log.Debug("session ended", append(whose(peer, err), observe.KeyError, err)...)
			}
		},
	}
}

// whose are the pairs that say whose connection it was, and where it was to go.
func whose(peer string, err error) []any {
	pairs := []any{observe.KeyAddress, peer}
	if s, ok := errors.AsType[sessionError](err); ok {
		pairs = append(pairs, named(s.deployment, s.user)...)
	}
	return pairs
}

// named are the pairs of a route. Clients choose the names, so they are bounded.
func named(deployment, user string) []any {
	pairs := []any{observe.KeyDeployment, session.Shown(deployment)}
	if user != "" { // unknown where TLS passes through
		pairs = append(pairs, observe.KeyUser, session.Shown(user))
	}
	return pairs
}

// refused are the pairs of a refusal, with its cause where that says more.
func refused(r *session.RefusalError, err error) []any {
	pairs := []any{observe.KeyReason, r.SQLSTATE, observe.KeyMessage, r.Message}
	if err.Error() != r.Error() {
		pairs = append(pairs, observe.KeyError, err)
	}
	return pairs
}
