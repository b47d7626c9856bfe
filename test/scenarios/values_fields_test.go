package scenarios

// place is a field of an object that takes a value, with the object around it:
// @V@ is the value, @N@ a number that no other object has.
type place struct {
	field, object string
}

const (
	routeHead = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: o@N@, namespace: shop}\nspec:\n  parentRefs: [{name: edge, sectionName: http}]\n"
	ruleHead  = routeHead + "  hostnames: [h@N@.example]\n  rules:\n  - "
	toApp     = "\n    backendRefs: [{name: app, port: 80}]\n"
	grpcHead  = "apiVersion: gateway.networking.k8s.io/v1\nkind: GRPCRoute\nmetadata: {name: o@N@, namespace: shop}\nspec:\n  parentRefs: [{name: edge, sectionName: http}]\n  hostnames: [g@N@.example]\n  rules:\n  - "
	tlsHead   = "apiVersion: gateway.networking.k8s.io/v1\nkind: TLSRoute\nmetadata: {name: o@N@, namespace: shop}\nspec:\n  parentRefs: [{name: edge, sectionName: tls}]\n"
	gateHead  = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: o@N@, namespace: shop}\nspec:\n  gatewayClassName: gatehouse\n"
	policy    = "apiVersion: v1\nkind: Service\nmetadata: {name: s@N@, namespace: shop}\nspec: {ports: [{name: http, port: 80}]}\n---\n" +
		"apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: o@N@, namespace: shop}\nspec:\n  targetRefs: [{group: '', kind: Service, name: s@N@}]\n  validation: "
	behind = "\n---\n" + ruleHead + "backendRefs: [{name: s@N@, port: 80}]\n"
)

func filter(name, kind, fields string) string {
	return "filters: [{type: " + kind + ", " + name + ": " + fields + "}]"
}

// admits is a listener that asks a service.
func admits(fields string) string {
	return "  listeners: [{name: http, protocol: HTTP, port: 8080, filters: {requests: [{type: ExternalAuth, externalAuth: {" + fields + "}}]}}]\n"
}

// texts are the fields that take a text.
var texts = []place{
	{"path", ruleHead + "matches: [{path: {type: Exact, value: @V@}}]" + toApp},
	{"path", ruleHead + "matches: [{path: {type: PathPrefix, value: @V@}}]" + toApp},
	{"path", ruleHead + "matches: [{path: {type: RegularExpression, value: @V@}}]" + toApp},
	{"headers[0].name", ruleHead + "matches: [{headers: [{name: @V@, value: x}]}]" + toApp},
	{"headers[0].value", ruleHead + "matches: [{headers: [{name: x, value: @V@}]}]" + toApp},
	{"headers[0].value", ruleHead + "matches: [{headers: [{name: x, type: RegularExpression, value: @V@}]}]" + toApp},
	{"queryParams[0].name", ruleHead + "matches: [{queryParams: [{name: @V@, value: x}]}]" + toApp},
	{"queryParams[0].value", ruleHead + "matches: [{queryParams: [{name: x, value: @V@}]}]" + toApp},
	{"queryParams[0].value", ruleHead + "matches: [{queryParams: [{name: x, type: RegularExpression, value: @V@}]}]" + toApp},
	{"method", ruleHead + "matches: [{method: @V@}]" + toApp},
	{"requestHeaderModifier", ruleHead + filter("requestHeaderModifier", "RequestHeaderModifier", "{set: [{name: @V@, value: x}]}") + toApp},
	{"requestHeaderModifier", ruleHead + filter("requestHeaderModifier", "RequestHeaderModifier", "{set: [{name: x, value: @V@}]}") + toApp},
	{"requestHeaderModifier", ruleHead + filter("requestHeaderModifier", "RequestHeaderModifier", "{add: [{name: @V@, value: x}]}") + toApp},
	{"requestHeaderModifier", ruleHead + filter("requestHeaderModifier", "RequestHeaderModifier", "{remove: [@V@]}") + toApp},
	{"responseHeaderModifier", ruleHead + filter("responseHeaderModifier", "ResponseHeaderModifier", "{set: [{name: @V@, value: x}]}") + toApp},
	{"responseHeaderModifier", ruleHead + filter("responseHeaderModifier", "ResponseHeaderModifier", "{add: [{name: x, value: @V@}]}") + toApp},
	{"responseHeaderModifier", ruleHead + filter("responseHeaderModifier", "ResponseHeaderModifier", "{remove: [@V@]}") + toApp},
	{"scheme", ruleHead + filter("requestRedirect", "RequestRedirect", "{scheme: @V@}")},
	{"hostname", ruleHead + filter("requestRedirect", "RequestRedirect", "{hostname: @V@}")},
	{"replaceFullPath", ruleHead + filter("requestRedirect", "RequestRedirect", "{path: {type: ReplaceFullPath, replaceFullPath: @V@}}")},
	{"replacePrefixMatch", ruleHead + "matches: [{path: {value: /a}}]\n    " + filter("requestRedirect", "RequestRedirect", "{path: {type: ReplacePrefixMatch, replacePrefixMatch: @V@}}")},
	{"hostname", ruleHead + filter("urlRewrite", "URLRewrite", "{hostname: @V@}") + toApp},
	{"replaceFullPath", ruleHead + filter("urlRewrite", "URLRewrite", "{path: {type: ReplaceFullPath, replaceFullPath: @V@}}") + toApp},
	{"replacePrefixMatch", ruleHead + "matches: [{path: {value: /a}}]\n    " + filter("urlRewrite", "URLRewrite", "{path: {type: ReplacePrefixMatch, replacePrefixMatch: @V@}}") + toApp},
	{"replacePrefixMatch", ruleHead + filter("urlRewrite", "URLRewrite", "{path: {type: ReplacePrefixMatch, replacePrefixMatch: @V@}}") + toApp},
	{"allowOrigins[0]", ruleHead + filter("cors", "CORS", "{allowOrigins: [@V@]}") + toApp},
	{"allowMethods[0]", ruleHead + filter("cors", "CORS", "{allowMethods: [@V@]}") + toApp},
	{"allowHeaders[0]", ruleHead + filter("cors", "CORS", "{allowHeaders: [@V@]}") + toApp},
	{"exposeHeaders[0]", ruleHead + filter("cors", "CORS", "{exposeHeaders: [@V@]}") + toApp},
	{"request", ruleHead + "timeouts: {request: @V@}" + toApp},
	{"backendRequest", ruleHead + "timeouts: {backendRequest: @V@}" + toApp},
	{"backoff", ruleHead + "retry: {backoff: @V@}" + toApp},
	{"name", ruleHead + "name: @V@" + toApp},
	{"backendRefs[0]", ruleHead + "backendRefs: [{name: @V@, port: 80}]\n"},
	{"backendRefs[0]", ruleHead + "backendRefs: [{name: app, namespace: @V@, port: 80}]\n"},
	{"backendRefs[0]", ruleHead + "backendRefs: [{name: app, kind: @V@, port: 80}]\n"},
	{"backendRefs[0]", ruleHead + "backendRefs: [{name: app, group: @V@, port: 80}]\n"},
	{"hostnames", routeHead + "  hostnames: [@V@]\n  rules:\n  - backendRefs: [{name: app, port: 80}]\n"},
	{"parentRefs[0]", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: o@N@, namespace: shop}\nspec:\n  parentRefs: [{name: edge, sectionName: @V@}]\n  rules:\n  - backendRefs: [{name: app, port: 80}]\n"},
	{"service", grpcHead + "matches: [{method: {service: @V@}}]" + toApp},
	{"service", grpcHead + "matches: [{method: {service: @V@, method: Add}}]" + toApp},
	{"method", grpcHead + "matches: [{method: {method: @V@}}]" + toApp},
	{"service", grpcHead + "matches: [{method: {type: RegularExpression, service: @V@}}]" + toApp},
	{"method", grpcHead + "matches: [{method: {type: RegularExpression, service: a, method: @V@}}]" + toApp},
	{"headers[0].name", grpcHead + "matches: [{headers: [{name: @V@, value: x}]}]" + toApp},
	{"headers[0].value", grpcHead + "matches: [{headers: [{name: x, value: @V@}]}]" + toApp},
	{"headers[0].value", grpcHead + "matches: [{headers: [{name: x, type: RegularExpression, value: @V@}]}]" + toApp},
	{"requestHeaderModifier", grpcHead + filter("requestHeaderModifier", "RequestHeaderModifier", "{set: [{name: @V@, value: x}]}") + toApp},
	{"hostnames", tlsHead + "  hostnames: [@V@]\n  rules:\n  - backendRefs: [{name: app, port: 80}]\n"},
	{"hostname", gateHead + "  listeners: [{name: http, protocol: HTTP, port: 8080, hostname: @V@}]\n"},
	{"listeners", gateHead + "  listeners: [{name: http, protocol: @V@, port: 8080}]\n"},
	{"path", gateHead + admits("protocol: HTTP, backendRef: {name: app, port: 80}, http: {path: @V@}")},
	{"allowedHeaders[0]", gateHead + admits("protocol: HTTP, backendRef: {name: app, port: 80}, http: {allowedHeaders: [@V@]}")},
	{"allowedResponseHeaders[0]", gateHead + admits("protocol: HTTP, backendRef: {name: app, port: 80}, http: {allowedResponseHeaders: [@V@]}")},
	{"backendRef", gateHead + admits("protocol: GRPC, grpc: {}, backendRef: {name: @V@, port: 80}")},
	{"certificateRefs[0]", gateHead + "  listeners: [{name: https, protocol: HTTPS, port: 8443, tls: {certificateRefs: [{name: @V@}]}}]\n"},
	{"addresses[0]", gateHead + "  addresses: [{value: @V@}]\n  listeners: [{name: http, protocol: HTTP, port: 8080}]\n"},
	{"hostname", policy + "{wellKnownCACertificates: System, hostname: @V@}" + behind},
	{"subjectAltNames[0]", policy + "{wellKnownCACertificates: System, hostname: a.example, subjectAltNames: [{type: Hostname, hostname: @V@}]}" + behind},
	{"subjectAltNames[0]", policy + "{wellKnownCACertificates: System, hostname: a.example, subjectAltNames: [{type: URI, uri: @V@}]}" + behind},
	{"caCertificateRefs[0]", policy + "{caCertificateRefs: [{group: '', kind: ConfigMap, name: @V@}], hostname: a.example}" + behind},
	{"ca.crt", policy + "{caCertificateRefs: [{group: '', kind: ConfigMap, name: c@N@}], hostname: a.example}" + behind +
		"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c@N@, namespace: shop}\ndata: {ca.crt: @V@}\n"},
	{"externalHostname", "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: o@N@, namespace: shop}\nspec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: @V@}}\n---\n" +
		ruleHead + "backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: o@N@}]\n"},
	{"appProtocol", "apiVersion: v1\nkind: Service\nmetadata: {name: s@N@, namespace: shop}\nspec: {ports: [{name: http, port: 80, appProtocol: @V@}]}" + behind},
	{"addresses[0]", "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: e@N@, namespace: shop, labels: {kubernetes.io/service-name: app}}\naddressType: IPv4\nports: [{name: http, port: 8080}]\nendpoints: [{addresses: [@V@]}]\n"},
	{"accessLog", "apiVersion: gatehouse.dev/v1alpha1\nkind: GatewayConfig\nmetadata: {name: c@N@, namespace: shop}\nspec: {accessLog: {path: @V@}}\n---\n" +
		gateHead + "  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayConfig, name: c@N@}}\n  listeners: [{name: http, protocol: HTTP, port: 8080}]\n"},
	{"logLevel", "apiVersion: gatehouse.dev/v1alpha1\nkind: GatewayConfig\nmetadata: {name: c@N@, namespace: shop}\nspec: {logLevel: @V@}\n---\n" +
		gateHead + "  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayConfig, name: c@N@}}\n  listeners: [{name: http, protocol: HTTP, port: 8080}]\n"},
}

// amounts are the fields that take a number.
var amounts = []place{
	{"weight", ruleHead + "backendRefs: [{name: app, port: 80, weight: @V@}]\n"},
	{"weight", ruleHead + "backendRefs: [{name: app, port: 80, weight: @V@}, {name: app, port: 80, weight: @V@}, {name: app, port: 80, weight: 1}]\n"},
	{"port", ruleHead + "backendRefs: [{name: app, port: @V@}]\n"},
	{"parentRefs[0]", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: o@N@, namespace: shop}\nspec:\n  parentRefs: [{name: edge, port: @V@}]\n  rules:\n  - backendRefs: [{name: app, port: 80}]\n"},
	{"percent", ruleHead + filter("requestMirror", "RequestMirror", "{backendRef: {name: app, port: 80}, percent: @V@}") + toApp},
	{"fraction", ruleHead + filter("requestMirror", "RequestMirror", "{backendRef: {name: app, port: 80}, fraction: {numerator: @V@}}") + toApp},
	{"fraction", ruleHead + filter("requestMirror", "RequestMirror", "{backendRef: {name: app, port: 80}, fraction: {numerator: 1, denominator: @V@}}") + toApp},
	{"fraction", ruleHead + filter("requestMirror", "RequestMirror", "{backendRef: {name: app, port: 80}, fraction: {numerator: @V@, denominator: @V@}}") + toApp},
	{"maxAge", ruleHead + filter("cors", "CORS", "{maxAge: @V@}") + toApp},
	{"attempts", ruleHead + "retry: {attempts: @V@}" + toApp},
	{"codes[0]", ruleHead + "retry: {codes: [@V@]}" + toApp},
	{"port", ruleHead + filter("requestRedirect", "RequestRedirect", "{port: @V@}")},
	{"statusCode", ruleHead + filter("requestRedirect", "RequestRedirect", "{statusCode: @V@}")},
	{"port", gateHead + "  listeners: [{name: http, protocol: HTTP, port: @V@}]\n"},
	{"concurrency", "apiVersion: gatehouse.dev/v1alpha1\nkind: GatewayConfig\nmetadata: {name: c@N@, namespace: shop}\nspec: {concurrency: @V@}\n---\n" +
		gateHead + "  infrastructure: {parametersRef: {group: gatehouse.dev, kind: GatewayConfig, name: c@N@}}\n  listeners: [{name: http, protocol: HTTP, port: 8080}]\n"},
	{"port", "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: e@N@, namespace: shop, labels: {kubernetes.io/service-name: app}}\naddressType: IPv4\nports: [{name: http, port: @V@}]\nendpoints: [{addresses: [10.0.0.1]}]\n"},
	{"port", "apiVersion: v1\nkind: Service\nmetadata: {name: s@N@, namespace: shop}\nspec: {ports: [{name: http, port: @V@}]}" + behind},
	{"port", "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: o@N@, namespace: shop}\nspec: {type: ExternalHostname, port: {number: @V@}, externalHostname: {hostname: a.example}}\n---\n" +
		ruleHead + "backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: o@N@}]\n"},
}
