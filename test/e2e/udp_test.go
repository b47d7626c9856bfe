package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// udpService is a Service of one endpoint, with its datagrams on the port number that
// another of its ports has for connections.
func udpService(name string, at uint16) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: e2e}
spec: {ports: [{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, namespace: e2e, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: udp, port: %[2]d, protocol: UDP}]
endpoints: [{addresses: [127.0.0.1]}]
---
`, name, at)
}

func udpRoute(refs string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: datagrams, namespace: e2e}
spec:
  parentRefs: [{name: edge, sectionName: udp}]
  rules: [{backendRefs: [%s]}]
`, refs)
}

func startUDP(t *testing.T, name string) uint16 {
	t.Helper()
	b := must(backend.StartUDP(t.Context(), name, "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = b.Close() })
	return b.Addr.Port()
}

// udpRoutes sends datagrams by weight, follows weights and endpoints, and drops what
// has no backend.
func (s *stage) udpRoutes(t *testing.T) {
	near, far, spare := startUDP(t, "near"), startUDP(t, "far"), startUDP(t, "spare")
	s.write(t, "datagram-services.yaml", udpService("near", near)+udpService("far", far))
	const n = 200
	arrive := func(t *testing.T, want map[string][2]int) {
		s.eventually(t, "datagrams arrive as wanted", func(ctx context.Context) error {
			got, err := s.sendDatagrams(ctx, n)
			for name, bounds := range want {
				if err == nil && (got[name] < bounds[0] || got[name] > bounds[1]) {
					err = fmt.Errorf("%v, want %v", got, want)
				}
			}
			return err
		})
	}
	for _, c := range []struct {
		name, refs string
		want       map[string][2]int // least and most of n datagrams
	}{
		{"one", `{name: near, port: 53}`, map[string][2]int{"near": {n, n}}},
		{"zero", `{name: near, port: 53, weight: 0}, {name: far, port: 53, weight: 3}`, map[string][2]int{"far": {n, n}}},
		{"weighted", `{name: near, port: 53, weight: 70}, {name: far, port: 53, weight: 30}`, map[string][2]int{"near": {100, 180}, "far": {20, 100}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.write(t, "datagrams.yaml", udpRoute(c.refs))
			arrive(t, c.want)
		})
	}
	t.Run("endpoint", func(t *testing.T) {
		s.write(t, "datagram-services.yaml", udpService("near", near)+udpService("far", spare))
		arrive(t, map[string][2]int{"near": {100, 180}, "spare": {20, 100}})
	})
	t.Run("verdicts", func(t *testing.T) {
		s.waitState(t, "udproute", "e2e/datagrams", verdict.Serving)
		s.waitState(t, "gateway", "e2e/edge", verdict.Serving)
	})
	t.Run("missing", func(t *testing.T) {
		s.write(t, "datagrams.yaml", udpRoute(`{name: nowhere, port: 53}`))
		s.eventually(t, "datagrams are not answered", func(ctx context.Context) error {
			if name, err := rig.Datagram(ctx, s.tcp, "hello"); err == nil {
				return fmt.Errorf("answered by %s", name)
			}
			return nil
		})
		s.waitReason(t, "udproute", "e2e/datagrams", "BackendNotFound")
	})
}

// sendDatagrams counts who answers n clients.
func (s *stage) sendDatagrams(ctx context.Context, n int) (map[string]int, error) {
	got := map[string]int{}
	for range n {
		name, err := rig.Datagram(ctx, s.tcp, "hello")
		if err != nil {
			return got, err
		}
		got[name]++
	}
	return got, nil
}
