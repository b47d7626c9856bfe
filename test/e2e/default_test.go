package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// nextGateway is Gateway next, of plain HTTP on the second port.
const nextGateway = `  - {name: http, protocol: HTTP, port: @HTTPS@}
`

// scoped is a Gateway with a default scope.
func scoped(gateway, scope string) string {
	return strings.Replace(gateway, "\n  listeners:", "\n  defaultScope: "+scope+"\n  listeners:", 1)
}

// TestDefaultGateways: a route without parentRefs moves from one default Gateway to the
// next, and is served by both while there are two.
func TestDefaultGateways(t *testing.T) {
	unnamed := strings.Replace(route("web", "http", "web.e2e.test", "  - "+to("red")), "parentRefs: [{name: edge, sectionName: http}]", "useDefaultGateways: All", 1)
	s := start(t, map[string]string{
		"base.yaml": base, "edge.yaml": scoped(gateway("edge", httpListener), "All"), "next.yaml": scoped(gateway("next", nextGateway), "None"), "web.yaml": unnamed,
	}, "--features-experimental")
	answers := func(what string, edge, next int) {
		t.Helper()
		s.eventually(t, what, func(ctx context.Context) error {
			for _, at := range []struct {
				port   uint16
				status int
			}{{s.http, edge}, {s.https, next}} {
				got, err := rig.Do(ctx, rig.Request{Port: at.port, Host: "web.e2e.test"})
				if err != nil {
					return err
				}
				if got.Status != at.status || at.status == http.StatusOK && got.Answer.Backend != "red" {
					return fmt.Errorf("port %d answers %d by %q, want %d", at.port, got.Status, got.Answer.Backend, at.status)
				}
			}
			return nil
		})
	}
	answers("the default Gateway serves the route", 200, 404)

	s.write(t, "next.yaml", scoped(gateway("next", nextGateway), "All"))
	answers("two default Gateways serve it", 200, 200)

	s.write(t, "edge.yaml", gateway("edge", httpListener))
	answers("the one that is left serves it", 404, 200)
	s.waitState(t, "httproute", "e2e/web", verdict.Serving)

	s.remove(t, "next.yaml")
	s.waitState(t, "httproute", "e2e/web", verdict.Excluded)
	s.waitReason(t, "httproute", "e2e/web", verdict.ParentNotFound.Name)
}
