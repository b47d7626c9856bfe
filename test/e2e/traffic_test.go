package e2e

import (
	"slices"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// listeners of Gateway edge on the shared stage.
const listeners = httpListener + `  - {name: tcp, protocol: TCP, port: @TCP@}
  - {name: udp, protocol: UDP, port: @TCP@}
  - name: a
    protocol: HTTPS
    port: @HTTPS@
    hostname: a.e2e.test
    tls: {certificateRefs: [{name: a-tls}]}
  - name: b
    protocol: HTTPS
    port: @HTTPS@
    hostname: b.e2e.test
    tls: {certificateRefs: [{name: b-tls}]}
  - name: wild
    protocol: HTTPS
    port: @HTTPS@
    hostname: "*.wild.e2e.test"
    tls: {certificateRefs: [{name: wild-tls}, {name: deep-tls}]}
`

// TestTraffic tells every story of matches, filters, backends and TLS to one instance.
func TestTraffic(t *testing.T) {
	s := prepare(t)
	s.write(t, "base.yaml", base)
	s.write(t, "gateway.yaml", gateway("edge", listeners+sniListeners))
	for name, sans := range map[string][]string{"a": {"a.e2e.test"}, "b": {"b.e2e.test"}, "wild": {"*.wild.e2e.test"}, "deep": {"deep.wild.e2e.test"}, "ended": {"*.ended.e2e.test"}} {
		s.secret(t, name+"-tls.yaml", name+"-tls", sans...)
	}
	s.run(t)
	s.must(t, s.WaitReady)
	for _, st := range slices.Concat(matches, precedences, filters, redirects, rewrites, forwards, pairs, backends, hostnames) {
		t.Run(st.name, func(t *testing.T) { s.tell(t, st) })
	}
	t.Run("weights", s.weights)
	t.Run("mirrors", s.mirrors)
	t.Run("pairs", s.pairsCounted)
	t.Run("gRPC", s.calls)
	t.Run("WebSocket", s.webSocket)
	t.Run("backend TLS", s.backendTLS)
	t.Run("client certificates", s.clientCertificates)
	t.Run("mutual TLS", s.mutualTLS)
	t.Run("retries", s.retries)
	t.Run("TLS", s.tls)
	t.Run("TLS routes", s.tlsRoutes)
	t.Run("TCP", s.tcpRoutes)
	t.Run("UDP", s.udpRoutes)
	t.Run("edits", s.edits)
	t.Run("verdicts", s.verdicts)
}

// verdicts: what the stories left is served, and says so.
func (s *stage) verdicts(t *testing.T) {
	for _, name := range []string{"exact", "prefix", "rewrite-prefix"} {
		s.waitState(t, "httproute", "e2e/"+name, verdict.Serving)
	}
	s.waitState(t, "gateway", "e2e/edge", verdict.Serving)
	v := must(s.Why(t.Context(), "gateway", "e2e/edge"))(t)
	if v.Proxies.Total != 1 || v.Proxies.Acknowledged != 1 {
		t.Errorf("proxies: %+v, want 1 of 1", v.Proxies)
	}
	s.waitReason(t, "httproute", "e2e/missing", "BackendNotFound")
	s.waitReason(t, "httproute", "e2e/ungranted", "RefNotPermitted")
}
