package forward

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
)

// Metric describes one metric at /metrics; Labels is one label, or empty.
type Metric struct{ Name, Type, Help, Labels, Watch string }

// Metrics returns all that there are, in their order.
func Metrics() []Metric {
	const counter, gauge = "counter", "gauge"
	return []Metric{
		{"gatehouse_forward_connections_total", counter, "Connections of clients that were accepted.", "", "Its rate beside that of requests tells whether clients keep connections."},
		{"gatehouse_forward_connections", gauge, "Connections of clients that are open; pending ones have not been let in yet.", "state", "admitted at --max-connections refuses clients; many pending ones are strangers who knock."},
		{"gatehouse_forward_tunnels", gauge, "Tunnels, of CONNECT and SOCKS, that are open.", "", "What a drain waits for."},
		{"gatehouse_forward_requests_total", counter, "Requests of clients that were let in.", "protocol", "None for long is a proxy that nobody uses, or can use."},
		{"gatehouse_forward_refusals_total", counter, "Requests that came to nothing, by error type of RFC 9209.", "error", "destination_ip_prohibited is somebody who tries the inside; connection_timeout and dns_error are the way out."},
		{"gatehouse_forward_wrong_passwords_total", counter, "Wrong user names and passwords.", "", "A steady rate is somebody who guesses, or a client with an old password."},
		{"gatehouse_forward_bytes_total", counter, "Bytes that passed to targets (sent) and from them (received).", "direction", "What the provider bills."},
		{"gatehouse_forward_draining", gauge, "1 while the proxy is going away.", "", "1 for longer than --drain-timeout is a process that hangs."},
	}
}

// Status answers /healthz, 200 or 503 while the proxy is going away, and /metrics in
// the text format of Prometheus. With credentials, both ask for them.
func (s *Server) Status(authenticate bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.metrics)
	if !authenticate {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.knows(r) {
			mux.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="gatehouse", charset="UTF-8"`)
		http.Error(w, "user name and password are needed", http.StatusUnauthorized)
	})
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.draining.Err() != nil {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	values := s.values()
	var b strings.Builder
	for _, m := range Metrics() {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, m.Type)
		for _, v := range values[m.Name] {
			b.WriteString(m.Name)
			if m.Labels != "" {
				fmt.Fprintf(&b, "{%s=%q}", m.Labels, v.label)
			}
			fmt.Fprintf(&b, " %d\n", v.n)
		}
	}
	_, _ = io.WriteString(w, b.String())
}

// value is one series of a metric.
type value struct {
	label string
	n     int64
}

func (s *Server) values() map[string][]value {
	now := s.Counts()
	draining := int64(0)
	if now.Draining {
		draining = 1
	}
	all := map[string][]value{
		"gatehouse_forward_connections_total":     {{n: now.Accepted}},
		"gatehouse_forward_connections":           {{"admitted", int64(now.Admitted)}, {"pending", int64(now.Pending)}},
		"gatehouse_forward_tunnels":               {{n: int64(now.Tunnels)}},
		"gatehouse_forward_wrong_passwords_total": {{n: now.WrongPasswords}},
		"gatehouse_forward_bytes_total":           {{"sent", now.Sent}, {"received", now.Received}},
		"gatehouse_forward_draining":              {{n: draining}},
	}
	for _, name := range protocols {
		all["gatehouse_forward_requests_total"] = append(all["gatehouse_forward_requests_total"], value{name, now.Requests[name]})
	}
	for _, kind := range slices.Sorted(maps.Keys(now.Refusals)) {
		all["gatehouse_forward_refusals_total"] = append(all["gatehouse_forward_refusals_total"], value{kind, now.Refusals[kind]})
	}
	return all
}

// knows lets in whom the proxy would let in.
func (s *Server) knows(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	var given *access.Given
	if username, password, ok := r.BasicAuth(); ok {
		given = &access.Given{Username: username, Password: password}
	}
	_, err = s.Access.Decide(from.Addr(), given, time.Now())
	return err == nil
}
