package compile

import (
	"fmt"

	"pgregory.net/rapid"
)

func drawGRPCRoute(t *rapid.T, ns string) string {
	match := pick(t, "call", "", "method: {service: a.B, method: C}", "method: {service: a.B}", "method: {method: C}", "method: {type: RegularExpression, service: '('}", "headers: [{name: X, value: y}]")
	return fmt.Sprintf("kind: GRPCRoute\nmetadata: {name: r%s, namespace: %s%s}\nspec:\n  %s\n  hostnames: [%q]\n  rules:\n  - matches: [{%s}]\n    backendRefs: [%s]\n",
		pick(t, "name", "1", "2"), ns, drawAge(t), drawWants(t), pick(t, "host", drawnHosts[1:]...), match, drawBackends(t, false))
}
