package e2e

import "fmt"

// base is the class, the backends and the namespaces that every stage has.
var base = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: gatehouse}
spec:
  controllerName: gatehouse.dev/gateway-controller
  parametersRef: {group: gatehouse.dev, kind: GatewayConfig, namespace: e2e, name: e2e}
---
# Workers take a new table one after the other; with one, what was seen once holds.
apiVersion: gatehouse.dev/v1alpha1
kind: GatewayConfig
metadata: {name: e2e, namespace: e2e}
spec: {concurrency: 1}
---
apiVersion: v1
kind: Namespace
metadata: {name: e2e, labels: {team: edge}}
---
apiVersion: v1
kind: Namespace
metadata: {name: other, labels: {team: away}}
---
` + service + `
---
` + idle

// service is a Service and its slice for each backend.
var service = pair("e2e", "red", "@RED@") + pair("e2e", "green", "@GREEN@") + pair("e2e", "blue", "@BLUE@") +
	pair("e2e", "left", "@LEFT@") + pair("e2e", "right", "@RIGHT@") +
	pair("other", "vault", "@BLUE@") + pair("other", "open", "@GREEN@")

// idle is a Service without endpoints.
const idle = `apiVersion: v1
kind: Service
metadata: {name: idle, namespace: e2e}
spec: {ports: [{name: main, port: 80}]}
`

func pair(namespace, name, port string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s}
spec: {ports: [{name: main, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[2]s-1, namespace: %[1]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [{name: main, port: %[3]s}]
endpoints: [{addresses: ["127.0.0.1"]}]
---
`, namespace, name, port)
}

// gateway is a Gateway of namespace e2e with the listeners given as YAML.
func gateway(name, listeners string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: e2e}
spec:
  gatewayClassName: gatehouse
  listeners:
%s`, name, listeners)
}

const httpListener = `  - {name: http, protocol: HTTP, port: @HTTP@, allowedRoutes: {namespaces: {from: All}}}
`

// route is an HTTPRoute of namespace e2e on a listener of Gateway edge.
func route(name, listener, host, rules string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: e2e}
spec:
  parentRefs: [{name: edge, sectionName: %s}]
  hostnames: ["%s"]
  rules:
%s`, name, listener, host, rules)
}

// to is a rule's backendRefs with one backend.
func to(backend string) string { return fmt.Sprintf(`backendRefs: [{name: %s, port: 80}]`, backend) }
