package compile

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// The generated world is small, so that objects meet: two namespaces, two Gateways,
// a few names of everything else.
var (
	drawnNamespaces = []string{"a", "b"}
	drawnHosts      = []string{"", "a.example", "b.a.example", "*.example", "*.a.example", "other.test"}
	drawnClasses    = []string{"ours", "ours", "ours", "configured", "theirs", "absent"}
)

func pick(t *rapid.T, label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(t, label)
}

// drawEdit draws an object, or the absence of one.
func drawEdit(t *rapid.T, pairs map[string]string) store.Edit {
	ns := pick(t, "namespace", drawnNamespaces...)
	text := pickObject(t, ns, pairs)
	edit := decode(panicker{}, text)[0]
	if rapid.IntRange(0, 5).Draw(t, "deleted") == 0 {
		edit.Value = nil
	}
	return edit
}

// panicker lets decode be used where there is no testing.TB.
type panicker struct{ testing.TB }

func (panicker) Helper() {}

func (panicker) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func pickObject(t *rapid.T, ns string, pairs map[string]string) string {
	switch pick(t, "kind", "class", "class", "config", "gateway", "gateway", "gateway", "set", "set", "set", "http", "http", "http", "http", "grpc", "tcp", "tls", "udp",
		"service", "service", "import", "slice", "slice", "secret", "grant", "grant", "xbackend", "policy", "traffic", "telemetry", "namespace", "other") {
	case "class":
		return drawClass(t)
	case "config":
		return fmt.Sprintf("kind: GatewayConfig\nmetadata: {name: tuned, namespace: a}\nspec: {logLevel: %s}", pick(t, "level", "debug", "info", "loud"))
	case "gateway":
		return drawGateway(t, ns)
	case "set":
		return drawListenerSet(t, ns)
	case "http":
		return drawHTTPRoute(t, ns)
	case "grpc":
		return drawGRPCRoute(t, ns)
	case "tcp":
		return fmt.Sprintf("kind: TCPRoute\nmetadata: {name: t%s, namespace: %s%s}\nspec:\n  %s\n  rules:\n  - backendRefs: [%s]\n",
			pick(t, "name", "1", "2"), ns, drawAge(t), drawWants(t), drawBackends(t, false))
	case "tls":
		return fmt.Sprintf("kind: TLSRoute\nmetadata: {name: t%s, namespace: %s%s}\nspec:\n  %s\n  hostnames: [%q]\n  rules:\n  - backendRefs: [%s]\n",
			pick(t, "name", "1", "2"), ns, drawAge(t), drawWants(t), pick(t, "host", drawnHosts[1:]...), drawBackends(t, false))
	case "udp":
		return fmt.Sprintf("kind: UDPRoute\nmetadata: {name: t%s, namespace: %s%s}\nspec:\n  %s\n  rules:\n  - backendRefs: [%s]\n",
			pick(t, "name", "1", "2"), ns, drawAge(t), drawWants(t), drawBackends(t, false))
	case "service":
		return drawService(t, ns)
	case "import":
		return drawImport(t, ns)
	case "slice":
		return drawSlice(t, ns)
	case "secret":
		return fmt.Sprintf("kind: Secret\nmetadata: {name: s%s, namespace: %s}\ndata: %s", pick(t, "name", "1", "2"), ns, pairs[pick(t, "pair", "good", "other", "mixed", "none")])
	case "grant":
		return drawGrant(t, ns)
	case "xbackend":
		return drawXBackend(t, ns)
	case "traffic":
		return fmt.Sprintf("kind: XBackendTrafficPolicy\nmetadata: {name: p%s, namespace: %s%s}\nspec: {targetRefs: [{group: '', kind: Service, name: s%s}]%s%s}",
			pick(t, "name", "1", "2"), ns, drawAge(t), pick(t, "service", "1", "2"),
			pick(t, "constraint", "", ", retryConstraint: {}", ", retryConstraint: {budget: {percent: 5}}", ", retryConstraint: {budget: {percent: 101}}"),
			pick(t, "kept", "", ", sessionPersistence: {cookie: {}}", ", sessionPersistence: {absoluteTimeout: 1ms, cookie: {}}"))
	case "policy":
		return fmt.Sprintf("kind: BackendTLSPolicy\nmetadata: {name: p, namespace: %s}\nspec: {targetRefs: [{%s, name: s%s}], validation: {hostname: x, wellKnownCACertificates: System}}",
			ns, pick(t, "target", "group: '', kind: Service", "group: multicluster.x-k8s.io, kind: ServiceImport"), pick(t, "name", "1", "2"))
	case "telemetry":
		return drawTelemetry(t, ns)
	case "namespace":
		return fmt.Sprintf("kind: Namespace\nmetadata: {name: %s, labels: {team: %s}}", ns, pick(t, "team", "red", "blue"))
	default:
		return drawOther(t, ns)
	}
}

func drawTelemetry(t *rapid.T, ns string) string {
	tracing := pick(t, "tracing", "{mode: Disabled}", "{mode: Enabled, samplingRate: {numerator: 200}}",
		"{mode: Enabled, samplingRate: {numerator: 1}, provider: {backendRef: {name: s1, port: 80}}}",
		"{mode: Enabled, provider: {backendRef: {name: s2, namespace: a, port: 80}}, attributes: [{name: x, sourceType: Attribute, attributeKey: url.path}]}",
		"{mode: Enabled, provider: {backendRef: {group: gateway.networking.x-k8s.io, kind: XBackend, name: x}}}")
	return fmt.Sprintf("kind: XTelemetryPolicy\nmetadata: {name: q%s, namespace: %s%s}\nspec: {targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: g}], tracing: %s}",
		pick(t, "name", "1", "2"), ns, drawAge(t), pick(t, "target", "Gateway", "Gateway", "Gateway", "Service"), tracing)
}

func drawXBackend(t *rapid.T, ns string) string {
	where := fmt.Sprintf("type: ExternalHostname, externalHostname: {hostname: %q}", pick(t, "hostname", "x.example", "y.example", "10.0.0.1"))
	if rapid.Bool().Draw(t, "selects") {
		where = fmt.Sprintf("type: EndpointSelector, endpointSelector: {matchLabels: {%s}}", pick(t, "labels", "app: one", "app: two", "app: one, tier: web"))
	}
	tls := pick(t, "tls", "", "", ", tls: {mode: ServerOnly, validation: {hostname: x, wellKnownCACertificates: System}}",
		", tls: {mode: ClientAndServer, clientCertificateRef: {name: s1}, validation: {hostname: x, wellKnownCACertificates: System}}",
		", tls: {mode: ClientAndServer, clientCertificateRef: {name: s2, namespace: b}, validation: {hostname: x, wellKnownCACertificates: System}}")
	return fmt.Sprintf("kind: XBackend\nmetadata: {name: x, namespace: %s}\nspec: {%s, port: {number: %s}%s}", ns, where, pick(t, "port", "443", "8080"), tls)
}

// busyWorld is where most histories start: everything in it serves.
func busyWorld(pairs map[string]string) []string {
	documents := []string{
		"kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: gatehouse.dev/gateway-controller}",
		"kind: Namespace\nmetadata: {name: b, labels: {team: red}}",
		`
kind: Gateway
metadata: {name: g, namespace: a}
spec:
  gatewayClassName: ours
  defaultScope: All
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: l0, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}
  - {name: l1, protocol: HTTPS, port: 443, hostname: "*.example", allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: red}}}}, tls: {certificateRefs: [{name: s1, namespace: b}]}}
  - {name: l2, protocol: TCP, port: 9000, allowedRoutes: {namespaces: {from: All}}}
  - {name: l3, protocol: UDP, port: 9000, allowedRoutes: {namespaces: {from: All}}}
`, `
kind: ListenerSet
metadata: {name: m1, namespace: b}
spec:
  parentRef: {name: g, namespace: a}
  listeners:
  - {name: l0, protocol: HTTP, port: 80, hostname: other.test}
  - {name: l1, protocol: HTTPS, port: 443, hostname: a.example, tls: {certificateRefs: [{name: s1}]}}
`, `
kind: HTTPRoute
metadata: {name: r1, namespace: b}
spec:
  parentRefs: [{name: g, namespace: a}]
  hostnames: [a.example]
  rules: [{backendRefs: [{name: s1, port: 80, namespace: a}, {name: s2, port: 80}]}]
`, `
kind: TCPRoute
metadata: {name: t1, namespace: b}
spec:
  useDefaultGateways: All
  rules: [{backendRefs: [{name: s2, port: 80, namespace: a}]}]
`, `
kind: UDPRoute
metadata: {name: t1, namespace: b}
spec:
  parentRefs: [{name: g, namespace: a}]
  rules: [{backendRefs: [{name: s2, port: 80, namespace: a}, {name: s1, port: 80}]}]
`,
		"kind: ReferenceGrant\nmetadata: {name: n1, namespace: a}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: b}, {group: gateway.networking.k8s.io, kind: TCPRoute, namespace: b}, {group: gateway.networking.k8s.io, kind: UDPRoute, namespace: b}], to: [{group: '', kind: Service}]}",
		"kind: ReferenceGrant\nmetadata: {name: n1, namespace: b}\nspec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: a}], to: [{group: '', kind: Secret, name: s1}]}",
		"kind: Secret\nmetadata: {name: s1, namespace: b}\ndata: " + pairs["good"],
	}
	for _, ns := range drawnNamespaces {
		for _, name := range []string{"1", "2"} {
			documents = append(documents,
				fmt.Sprintf("kind: Service\nmetadata: {name: s%s, namespace: %s}\nspec: {ports: [{name: http, port: 80}, {name: more, port: 81}, {name: dns, port: 80, protocol: UDP}]}", name, ns),
				fmt.Sprintf("kind: EndpointSlice\nmetadata: {name: e%s, namespace: %s, labels: {kubernetes.io/service-name: s%s}}\naddressType: IPv4\nports: [{name: http, port: 8080}, {name: dns, port: 5300, protocol: UDP}]\nendpoints: [{addresses: [10.0.0.1]}]", name, ns, name))
		}
	}
	return documents
}

func drawAge(t *rapid.T) string {
	return pick(t, "created", "", ", creationTimestamp: '2026-01-01T00:00:00Z'", ", creationTimestamp: '2026-01-02T00:00:00Z'")
}

func drawClass(t *rapid.T) string {
	switch pick(t, "class", "ours", "ours", "configured", "theirs") {
	case "ours":
		return "kind: GatewayClass\nmetadata: {name: ours}\nspec: {controllerName: gatehouse.dev/gateway-controller}"
	case "configured":
		return "kind: GatewayClass\nmetadata: {name: configured}\nspec: {controllerName: gatehouse.dev/gateway-controller, parametersRef: {group: gatehouse.dev, kind: GatewayConfig, namespace: a, name: tuned}}"
	default:
		return "kind: GatewayClass\nmetadata: {name: theirs}\nspec: {controllerName: example.net/other}"
	}
}

func drawGateway(t *rapid.T, ns string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kind: Gateway\nmetadata: {name: g, namespace: %s%s}\nspec:\n  gatewayClassName: %s\n", ns, drawAge(t), pick(t, "class", drawnClasses...))
	b.WriteString(pick(t, "addresses", "", "", "  addresses: [{value: 10.0.0.1}]\n", "  addresses: [{value: 0.0.0.0}, {value: 10.0.0.1}]\n", "  addresses: [{type: Hostname, value: x.example}]\n"))
	b.WriteString(pick(t, "infrastructure", "", "", "  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayConfig, name: tuned}}\n"))
	b.WriteString(pick(t, "allowed sets", "", "  allowedListeners: {namespaces: {from: All}}\n", "  allowedListeners: {namespaces: {from: All}}\n", "  allowedListeners: {namespaces: {from: Same}}\n",
		"  allowedListeners: {namespaces: {from: None}}\n", "  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {team: red}}}}\n", "  allowedListeners: {namespaces: {from: Selector}}\n"))
	b.WriteString(pick(t, "default", "", "", "  defaultScope: All\n", "  defaultScope: None\n"))
	b.WriteString("  listeners:\n")
	for i := range rapid.IntRange(1, 4).Draw(t, "listeners") {
		b.WriteString(drawListener(t, i))
	}
	return b.String()
}

func drawListenerSet(t *rapid.T, ns string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kind: ListenerSet\nmetadata: {name: m%s, namespace: %s%s}\nspec:\n  parentRef: {name: g%s}\n  listeners:\n", pick(t, "name", "1", "2"), ns, drawAge(t),
		pick(t, "gateway namespace", "", ", namespace: a", ", namespace: b", ", namespace: a", ", kind: Thing"))
	for i := range rapid.IntRange(1, 3).Draw(t, "listeners") {
		b.WriteString(drawListener(t, i))
	}
	return b.String()
}

func drawListener(t *rapid.T, i int) string {
	protocol := pick(t, "protocol", "HTTP", "HTTP", "HTTPS", "HTTPS", "TCP", "TLS", "UDP")
	port := map[string]string{"HTTP": "80", "HTTPS": "443", "TCP": "9000", "TLS": "443", "UDP": "9000"}[protocol]
	if rapid.IntRange(0, 7).Draw(t, "odd port") == 0 {
		port = "80"
	}
	out := fmt.Sprintf("  - {name: l%d, protocol: %s, port: %s", i, protocol, port)
	if host := pick(t, "hostname", drawnHosts...); host != "" && protocol != "TCP" && protocol != "UDP" {
		out += fmt.Sprintf(", hostname: %q", host)
	}
	out += pick(t, "allowed", "", "", ", allowedRoutes: {namespaces: {from: All}}", ", allowedRoutes: {namespaces: {from: All}}",
		", allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {team: red}}}}",
		", allowedRoutes: {namespaces: {from: Selector, selector: {matchExpressions: [{key: team, operator: NotIn, values: [red]}]}}}",
		", allowedRoutes: {namespaces: {from: Selector, selector: {}}}",
		", allowedRoutes: {kinds: [{kind: GRPCRoute}]}")
	if protocol == "HTTPS" {
		var refs []string
		for range rapid.IntRange(1, 2).Draw(t, "certificates") {
			refs = append(refs, fmt.Sprintf("{name: s%s%s}", pick(t, "secret", "1", "2"), pick(t, "of", "", "", ", namespace: a", ", namespace: b")))
		}
		out += ", tls: {certificateRefs: [" + strings.Join(refs, ", ") + "]}"
	}
	if protocol == "HTTP" || protocol == "HTTPS" || rapid.IntRange(0, 7).Draw(t, "odd filters") == 0 {
		out += pick(t, "filters", "", "", "", ", filters: {}", filtersYAML("s1"), filtersYAML("s2", "s1"), filtersYAML("absent"),
			", filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: s1, namespace: a, port: 80}}}]}",
			", filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {group: gateway.networking.x-k8s.io, kind: XBackend, name: x}, http: {path: /../}}}]}",
			", filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {group: gateway.networking.x-k8s.io, kind: XBackend, name: x}}}]}",
			", filters: {requests: [{type: ExtensionRef, extensionRef: {group: example.net, kind: Thing, name: x}}]}")
	}
	return out + "}\n"
}

func drawParents(t *rapid.T) string {
	var refs []string
	for range rapid.IntRange(0, 2).Draw(t, "parents") {
		refs = append(refs, "{"+pick(t, "parent", "name: g", "name: g", "kind: ListenerSet, name: m1", "kind: ListenerSet, name: m2")+pick(t, "parent namespace", "", "", ", namespace: a", ", namespace: b")+
			pick(t, "section", "", "", "", ", sectionName: l0", ", sectionName: l1", ", port: 80", ", port: 443")+"}")
	}
	return strings.Join(refs, ", ")
}

// drawWants are the parentRefs of a route, and whether it asks for default Gateways.
func drawWants(t *rapid.T) string {
	return pick(t, "defaults", "", "", "useDefaultGateways: All\n  ", "useDefaultGateways: None\n  ") + "parentRefs: [" + drawParents(t) + "]"
}

func drawHTTPRoute(t *rapid.T, ns string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "kind: HTTPRoute\nmetadata: {name: r%s, namespace: %s%s}\nspec:\n  %s\n",
		pick(t, "name", "1", "2", "3"), ns, drawAge(t), drawWants(t))
	var hosts []string
	for range rapid.IntRange(0, 2).Draw(t, "hosts") {
		hosts = append(hosts, fmt.Sprintf("%q", pick(t, "hostname", drawnHosts[1:]...)))
	}
	fmt.Fprintf(&b, "  hostnames: [%s]\n  rules:\n", strings.Join(hosts, ", "))
	for range rapid.IntRange(1, 3).Draw(t, "rules") {
		fmt.Fprintf(&b, "  - matches: [%s]\n    filters: [%s]\n", drawMatches(t), drawFilter(t))
		b.WriteString(pick(t, "session", "", "", "", "    sessionPersistence: {cookie: {}}\n", "    sessionPersistence: {cookie: {name: s}}\n", "    sessionPersistence: {type: Header, header: {name: Host}}\n"))
		if rapid.IntRange(0, 3).Draw(t, "backends") > 0 {
			fmt.Fprintf(&b, "    backendRefs: [%s]\n", drawBackends(t, true))
		}
	}
	return b.String()
}

func drawMatches(t *rapid.T) string {
	var out []string
	for range rapid.IntRange(0, 2).Draw(t, "matches") {
		out = append(out, "{path: {"+pick(t, "path", "value: /", "value: /a", "value: /a/", "type: Exact, value: /a", "type: RegularExpression, value: '/a.*'", "type: RegularExpression, value: '/('")+"}"+
			pick(t, "more", "", "", ", method: GET", ", headers: [{name: X, value: '1'}]", ", queryParams: [{name: q, value: '1'}]")+"}")
	}
	return strings.Join(out, ", ")
}

func drawFilter(t *rapid.T) string {
	return pick(t, "filter", "", "", "",
		"{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-A, value: '1'}]}}",
		"{type: RequestRedirect, requestRedirect: {scheme: https}}",
		"{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /b}}}",
		"{type: RequestMirror, requestMirror: {backendRef: {name: s1, port: 80}}}",
		"{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: s2, port: 80}}}",
		"{type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: s1, namespace: b, port: 81}}}",
		"{type: ExtensionRef, extensionRef: {group: example.net, kind: Thing, name: x}}")
}

func drawBackends(t *rapid.T, filters bool) string {
	var out []string
	for range rapid.IntRange(1, 3).Draw(t, "backends") {
		ref := pick(t, "backend", "name: s1, port: 80", "name: s2, port: 80", "name: s1, port: 81", "group: multicluster.x-k8s.io, kind: ServiceImport, name: s1, port: 80", "group: gateway.networking.x-k8s.io, kind: XBackend, name: x", "group: example.net, kind: Thing, name: x")
		ref += pick(t, "backend namespace", "", "", ", namespace: a", ", namespace: b")
		ref += pick(t, "weight", "", "", ", weight: 0", ", weight: 3")
		if filters {
			ref += pick(t, "backend filter", "", "", "", ", filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [x]}}]", ", filters: [{type: CORS, cors: {}}]", ", filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: s1, port: 80}}}]")
		}
		out = append(out, "{"+ref+"}")
	}
	return strings.Join(out, ", ")
}

func drawService(t *rapid.T, ns string) string {
	if rapid.IntRange(0, 9).Draw(t, "external") == 0 {
		return fmt.Sprintf("kind: Service\nmetadata: {name: s1, namespace: %s}\nspec: {type: ExternalName, externalName: x.example, ports: [{port: 80}]}", ns)
	}
	return fmt.Sprintf("kind: Service\nmetadata: {name: s%s, namespace: %s}\nspec: {%sports: [{name: http, port: 80%s}, {name: more, port: 81}%s]}",
		pick(t, "name", "1", "2"), ns, pick(t, "selector", "", "selector: {app: one}, ", "selector: {app: one, tier: web}, ", "selector: {app: two}, "), pick(t, "protocol", "", "", ", appProtocol: kubernetes.io/h2c", ", appProtocol: kubernetes.io/wss"), pick(t, "datagrams", "", ", {name: dns, port: 80, protocol: UDP}"))
}

func drawSlice(t *rapid.T, ns string) string {
	var endpoints []string
	for range rapid.IntRange(0, 3).Draw(t, "endpoints") {
		endpoints = append(endpoints, fmt.Sprintf("{addresses: [10.0.0.%s]%s}", pick(t, "address", "1", "2", "3"),
			pick(t, "ready", "", "", ", conditions: {ready: false}", ", conditions: {ready: false, serving: true, terminating: true}")))
	}
	return fmt.Sprintf("kind: EndpointSlice\nmetadata: {name: e%s, namespace: %s, labels: {%s: s%s}}\naddressType: IPv4\nports: [{name: %s, port: 8080}, {name: dns, port: 5300, protocol: UDP}]\nendpoints: [%s]",
		pick(t, "name", "1", "2", "3"), ns, pick(t, "label", "kubernetes.io/service-name", "kubernetes.io/service-name", "multicluster.kubernetes.io/service-name"), pick(t, "service", "1", "2"), pick(t, "port", "http", "http", "more"), strings.Join(endpoints, ", "))
}

func drawImport(t *rapid.T, ns string) string {
	return fmt.Sprintf("kind: ServiceImport\nmetadata: {name: s%s, namespace: %s}\nspec: {type: %s, ips: [%s], ports: [{name: http, port: 80%s}, {name: dns, port: 80, protocol: UDP}]}",
		pick(t, "name", "1", "1", "2"), ns, pick(t, "type", "ClusterSetIP", "Headless"), pick(t, "virtual", "", "10.1.0.1", "10.1.0.1, 'fd00::1'"),
		pick(t, "protocol", "", "", ", appProtocol: kubernetes.io/h2c"))
}

func drawGrant(t *rapid.T, ns string) string {
	return fmt.Sprintf("kind: ReferenceGrant\nmetadata: {name: n%s, namespace: %s}\nspec: {from: [{group: gateway.networking.k8s.io, kind: %s, namespace: %s}], to: [{%s%s}]}",
		pick(t, "name", "1", "2"), ns, pick(t, "from", "HTTPRoute", "HTTPRoute", "TCPRoute", "UDPRoute", "Gateway", "ListenerSet"), pick(t, "from namespace", drawnNamespaces...),
		pick(t, "to", "group: '', kind: Service", "group: '', kind: Service", "group: '', kind: Secret", "group: multicluster.x-k8s.io, kind: ServiceImport", "group: gateway.networking.x-k8s.io, kind: XBackend"),
		pick(t, "to name", "", "", ", name: s1", ", name: x"))
}

func drawOther(t *rapid.T, ns string) string {
	switch pick(t, "other", "ConfigMap", "GRPCRoute", "XMesh", "TLSRoute") {
	case "ConfigMap":
		return fmt.Sprintf("kind: ConfigMap\nmetadata: {name: m, namespace: %s}", ns)
	case "GRPCRoute":
		return fmt.Sprintf("kind: GRPCRoute\nmetadata: {name: q, namespace: %s}\nspec: {parentRefs: [{name: g}]}", ns)
	case "XMesh":
		return "kind: XMesh\nmetadata: {name: m}"
	default:
		return fmt.Sprintf("kind: TLSRoute\nmetadata: {name: q, namespace: %s}", ns)
	}
}
