package postgres

import (
	"net/http"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
)

// traffic are bytes carried, from the client and from the server.
type traffic struct{ client, server int64 }

func (t traffic) plus(o traffic) traffic { return traffic{t.client + o.client, t.server + o.server} }

// forwarded is what a session has carried so far. It costs the relay nothing.
func (s *running) forwarded() (t traffic, carried bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relay == nil {
		return traffic{}, false
	}
	t.client, t.server = s.relay.Forwarded()
	return t, true
}

// tallies are the sessions of one deployment.
type tallies struct {
	now   int // that have a server
	bytes traffic
}

// tally returns them by label, and how many sessions wait for a server. What a session
// carried is counted once, also while it ends.
func (r *roster) tally() (all map[string]tallies, held int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = map[string]tallies{}
	for label, t := range r.ended {
		all[label] = tallies{bytes: t}
	}
	for s := range r.all {
		t, carried := s.forwarded()
		if !carried {
			held++
			continue
		}
		sum := all[s.label]
		all[s.label] = tallies{now: sum.now + 1, bytes: sum.bytes.plus(t)}
	}
	return all, held
}

// Metrics serves what Options.Metrics hold.
func (r *Router) Metrics() http.Handler { return r.meter.Handler(r.measure) }

// measure brings metrics up to date that nobody counts as they change.
func (r *Router) measure() {
	m := r.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	all, held := r.roster.tally()
	m.Held.Set(float64(held))
	for label, t := range all {
		m.Sessions.WithLabelValues(label).Set(float64(t.now))
		known := m.bytes[label]
		m.Bytes.WithLabelValues(label, "client").Add(float64(t.bytes.client - known.client))
		m.Bytes.WithLabelValues(label, "server").Add(float64(t.bytes.server - known.server))
		m.bytes[label] = t.bytes
	}
	for outcome, n := range r.tally.All() {
		m.Cancels.WithLabelValues(string(outcome)).Add(float64(n - m.cancels[outcome]))
		m.cancels[outcome] = n
	}
	r.measureAround()
}

// measureAround measures what is around the sessions.
func (r *Router) measureAround() {
	m := r.meter
	counts := r.server.Counts()
	for state, n := range map[string]int{"admitted": counts.Admitted, "spoken": counts.Spoken, "silent": counts.Silent} {
		m.Connections.WithLabelValues(state).Set(float64(n))
	}
	deployments := 0
	for range r.options.Resolver.All() {
		deployments++
	}
	m.Deployments.Set(float64(deployments))
	m.Ready.Set(0)
	if r.unready() == "" {
		m.Ready.Set(1)
	}
	if r.options.Problems != nil {
		m.Problems.Reset()
		for reason, n := range r.options.Problems() {
			m.Problems.WithLabelValues(reason).Set(float64(n))
		}
	}
	if r.options.TLS != nil {
		m.certificate(r.options.TLS.Status())
	}
}

// certificate tells of the one that serves, if there is one yet, and whether it should be
// another.
func (m *meter) certificate(s tlsstore.Status) {
	if s.Loads > 0 {
		m.CertificateExpiry.Set(unix(s.Facts.NotAfter))
	}
	m.CertRefused.Set(0)
	if s.Refused != nil {
		m.CertRefused.Set(1)
	}
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
