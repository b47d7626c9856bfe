package postgres

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/observe"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/proxy"
)

// What became of a client that asked for a session.
const (
	outcomeReady         = "ready"
	outcomePassed        = "passed"
	outcomeRefused       = "refused"
	outcomeServerRefused = "server_refused"
	outcomeAbandoned     = "abandoned"
)

// Phases of a connect.
const (
	phaseStartup = "startup"
	phaseHold    = "hold"
	phaseDial    = "dial"
	phaseAnswer  = "answer"
	phaseLogin   = "login"
	phaseAll     = "all"
)

// Bounds of what labels may be.
const (
	maxDeployments = 1000
	maxSQLSTATEs   = 64
	otherLabel     = "other"
)

// meter turns what happens into metrics.
type meter struct {
	*observe.RouterMetrics
	deployments, sqlstates labels

	mu      sync.Mutex // of one measure at a time
	cancels map[cancel.Outcome]uint64
	bytes   map[string]traffic // that were counted
}

func newMeter(m *observe.RouterMetrics) *meter {
	if m == nil {
		m = observe.NewRouterMetrics()
	}
	return &meter{
		RouterMetrics: m, deployments: labels{most: maxDeployments}, sqlstates: labels{most: maxSQLSTATEs},
		cancels: map[cancel.Outcome]uint64{}, bytes: map[string]traffic{},
	}
}

// labels are the values that a label has had; further ones are all "other".
type labels struct {
	most int

	mu   sync.Mutex
	seen map[string]bool
}

func (l *labels) value(v string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case v == "" || l.seen[v]:
		return v
	case len(l.seen) >= l.most:
		return otherLabel
	case l.seen == nil:
		l.seen = map[string]bool{}
	}
	l.seen[v] = true
	return v
}

func (m *meter) phase(name string, took time.Duration) {
	m.ConnectSeconds.WithLabelValues(name).Observe(took.Seconds())
}

func (m *meter) connect(deployment, outcome, sqlstate string) {
	m.Connects.WithLabelValues(deployment, outcome, m.sqlstates.value(sqlstate)).Inc()
}

// label is what metrics call where a route leads: nothing, unless there is such a
// deployment. Clients choose names, and must not choose how many series there are.
func (r *Router) label(route session.Route) string {
	if registered, known := r.options.Resolver.Known(route.Deployment); !known || registered != route.Deployment {
		return ""
	}
	return r.meter.deployments.value(backendName(route))
}

// sessionError is an error of a session, which has been counted; the log says whose it was.
type sessionError struct {
	error

	deployment, user string
}

func (e sessionError) Unwrap() error { return e.error }

// stages are when a session came how far.
type stages struct {
	began, started, reached, answered time.Time
	dialling                          time.Duration
}

// greet is called at the first bytes of the server.
func (s *running) greet() {
	s.greeted.Store(true)
	s.stages.answered = time.Now()
	s.router.meter.phase(phaseAnswer, s.stages.answered.Sub(s.stages.reached))
	if s.opaque {
		s.router.meter.connect(s.label, outcomePassed, "")
	}
}

// loggedIn is called when the server is ready for the first time.
func (s *running) loggedIn() {
	now, m := time.Now(), s.router.meter
	m.connect(s.label, outcomeReady, "")
	m.phase(phaseLogin, now.Sub(s.stages.answered))
	m.phase(phaseAll, now.Sub(s.stages.began))
}

// arrived is called when the server is connected.
func (s *running) arrived() {
	s.stages.reached = time.Now()
	m := s.router.meter
	m.phase(phaseDial, s.stages.dialling)
	m.phase(phaseHold, s.stages.reached.Sub(s.stages.started)-s.stages.dialling)
}

// count counts how a session went that has ended with err; the login of one that was
// ready, or whose server has answered in TLS that is not ours, is counted already.
func (s *running) count(err error) {
	m := s.router.meter
	if s.ready || s.opaque && s.greeted.Load() {
		return
	}
	refusal, refused := errors.AsType[*session.RefusalError](err)
	switch state := s.tracker.LastError().SQLSTATE; {
	case refused:
		m.connect(s.label, outcomeRefused, refusal.SQLSTATE)
	case state != "":
		m.connect(s.label, outcomeServerRefused, state)
	default:
		m.connect(s.label, outcomeAbandoned, "")
	}
}

// countConnection counts how a connection ended that was no session. One that closes
// without a word, as port checks do, asked for none.
func (m *meter) countConnection(err error) {
	if _, counted := errors.AsType[sessionError](err); counted || err == nil || errors.Is(err, io.EOF) {
		return
	}
	if _, failed := errors.AsType[*handshakeError](err); failed {
		m.HandshakeFailures.Inc()
	}
	if refusal, ok := errors.AsType[*session.RefusalError](err); ok {
		m.connect("", outcomeRefused, refusal.SQLSTATE)
	} else {
		m.connect("", outcomeAbandoned, "")
	}
}

// endedBy names who closed first; a server that closes because the client has said
// goodbye did not.
func (s *running) endedBy(p proxy.Party) string {
	switch {
	case p == proxy.A, s.tracker.Terminated():
		return "client"
	case p == proxy.B:
		return "server"
	case p == proxy.Owner:
		return "router"
	default:
		return "forced"
	}
}
