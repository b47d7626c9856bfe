package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/egress"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/observe"
)

// state is what a super-proxy has at a scrape.
type state struct {
	forward.Counts
	sessions, leases int
}

func stateOf(s *egress.Server) state {
	now := state{Counts: s.Counts()}
	now.sessions, now.leases = s.Kept()
	return now
}

func one(value float64) map[string]float64 { return map[string]float64{"": value} }

func (m *Metrics) describe() (gauges, counters *series) {
	gauges, counters = &series{of: m, kind: prometheus.GaugeValue}, &series{of: m, kind: prometheus.CounterValue}
	gauges.add(observe.Metric{
		Name: "gatehouse_egress_sessions", Help: "Sessions that have a lease, or wait for one.",
		Watch: "Each has one for each target, and a minute after its last use.",
	}, func(now state) map[string]float64 { return one(float64(now.sessions)) })
	gauges.add(observe.Metric{
		Name: "gatehouse_egress_leases", Help: "Leases that are held, of sessions and of connections without one.",
		Watch: "What the fleet's capacity is taken by; it falls when clients name one target for all hosts of a session.",
	}, func(now state) map[string]float64 { return one(float64(now.leases)) })
	gauges.add(observe.Metric{
		Name: "gatehouse_egress_tunnels", Help: "Tunnels, of CONNECT and SOCKS, that are open.", Watch: "What a drain waits for.",
	}, func(now state) map[string]float64 { return one(float64(now.Tunnels)) })
	gauges.add(observe.Metric{
		Name: "gatehouse_egress_connections", Labels: []string{"state"},
		Help:  "Connections of clients that are open; pending ones have not been let in yet.",
		Watch: "admitted at --max-connections refuses clients.",
	}, func(now state) map[string]float64 {
		return map[string]float64{"admitted": float64(now.Admitted), "pending": float64(now.Pending)}
	})
	gauges.add(observe.Metric{
		Name: "gatehouse_egress_draining", Help: "1 while the super-proxy is going away.", Watch: "1 for longer than --drain-timeout is a process that hangs.",
	}, func(now state) map[string]float64 {
		if now.Draining {
			return one(1)
		}
		return one(0)
	})
	m.describeCounters(counters)
	return gauges, counters
}

func (m *Metrics) describeCounters(counters *series) {
	counters.add(observe.Metric{
		Name: "gatehouse_egress_bytes_total", Labels: []string{"direction"},
		Help:  "Bytes that passed to proxies (sent) and from them (received).",
		Watch: "What providers bill.",
	}, func(now state) map[string]float64 {
		return map[string]float64{"sent": float64(now.Sent), "received": float64(now.Received)}
	})
	counters.add(observe.Metric{
		Name: "gatehouse_egress_client_requests_total", Labels: []string{"protocol"},
		Help:  "Requests of clients that were let in, by protocol: http, connect, socks5.",
		Watch: "None for long is a super-proxy that nobody uses, or can use.",
	}, func(now state) map[string]float64 { return floats(now.Requests) })
	counters.add(observe.Metric{
		Name: "gatehouse_egress_refusals_total", Labels: []string{"error"},
		Help:  "Requests that came to nothing, by error type of RFC 9209, those of clients that were not let in included.",
		Watch: "http_request_denied are tokens and user names: the log has the hint.",
	}, func(now state) map[string]float64 { return floats(now.Refusals) })
	counters.add(observe.Metric{
		Name: "gatehouse_egress_wrong_tokens_total", Help: "Passwords that are no egress token.",
		Watch: "A steady rate is a client whose token was removed.",
	}, func(now state) map[string]float64 { return one(float64(now.WrongPasswords)) })
}

func floats(counts map[string]int64) map[string]float64 {
	out := make(map[string]float64, len(counts))
	for label, n := range counts {
		out[label] = float64(n)
	}
	return out
}
