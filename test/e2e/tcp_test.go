package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

func tcpRoute(refs string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: stream, namespace: e2e}
spec:
  parentRefs: [{name: edge, sectionName: tcp}]
  rules: [{backendRefs: [%s]}]
`, refs)
}

// tcpRoutes sends connections by weight, and away when there is no backend.
func (s *stage) tcpRoutes(t *testing.T) {
	const n = 200
	for _, c := range []struct {
		name, refs  string
		left, right [2]int // least and most of n connections
	}{
		{"one", `{name: left, port: 80}`, [2]int{n, n}, [2]int{}},
		{"zero", `{name: left, port: 80, weight: 0}, {name: right, port: 80, weight: 3}`, [2]int{}, [2]int{n, n}},
		{"even", `{name: left, port: 80, weight: 5}, {name: right, port: 80, weight: 5}`, [2]int{60, 140}, [2]int{60, 140}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.write(t, "stream.yaml", tcpRoute(c.refs))
			s.eventually(t, "connections arrive as wanted", func(ctx context.Context) error {
				left, right, err := s.connect(ctx, n)
				if err == nil && (left < c.left[0] || left > c.left[1] || right < c.right[0] || right > c.right[1]) {
					err = fmt.Errorf("%d left, %d right, want %v and %v", left, right, c.left, c.right)
				}
				return err
			})
		})
	}
	t.Run("missing", func(t *testing.T) {
		s.write(t, "stream.yaml", tcpRoute(`{name: nowhere, port: 80}`))
		s.eventually(t, "connections are not answered", func(ctx context.Context) error {
			if name, err := rig.Greeting(ctx, s.tcp); err == nil {
				return fmt.Errorf("greeted by %s", name)
			}
			return nil
		})
		s.waitReason(t, "tcproute", "e2e/stream", "BackendNotFound")
	})
}

func (s *stage) connect(ctx context.Context, n int) (left, right int, err error) {
	for range n {
		name, err := rig.Greeting(ctx, s.tcp)
		if err != nil {
			return left, right, err
		}
		switch name {
		case "left":
			left++
		case "right":
			right++
		}
	}
	return left, right, nil
}
