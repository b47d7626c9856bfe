package compile

import (
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// deriveFindings decides over every object of every kind: a kind without a
// decision of its own has no effect.
func (b *build) deriveFindings(g *derive.Graph) Findings {
	own := map[string]derive.Collection[Finding]{
		kindBackendTLSPolicy:      derive.Map(g, findingNode(kindBackendTLSPolicy), b.in.policies, b.policyFinding),
		kindClusterTrustBundle:    derive.Map(g, findingNode(kindClusterTrustBundle), b.in.bundles, b.bundleFinding),
		kindConfigMap:             derive.Map(g, findingNode(kindConfigMap), b.in.configMaps, b.configMapFinding),
		kindEndpointSlice:         derive.Map(g, findingNode(kindEndpointSlice), b.in.slices, b.sliceFinding),
		kindGRPCRoute:             derive.Map(g, findingNode(kindGRPCRoute), b.in.grpcRoutes, b.grpcFinding),
		kindGateway:               derive.Map(g, findingNode(kindGateway), b.in.gateways, b.gatewayFinding),
		kindGatewayClass:          derive.Map(g, findingNode(kindGatewayClass), b.in.classes, b.classFinding),
		kindGatewayConfig:         derive.Map(g, findingNode(kindGatewayConfig), b.in.configs, b.configFinding),
		kindHTTPRoute:             derive.Map(g, findingNode(kindHTTPRoute), b.in.httpRoutes, b.httpFinding),
		kindListenerSet:           derive.Map(g, findingNode(kindListenerSet), b.in.sets, b.setFinding),
		kindNamespace:             derive.Map(g, findingNode(kindNamespace), b.in.namespaces, b.namespaceFinding),
		kindReferenceGrant:        derive.Map(g, findingNode(kindReferenceGrant), b.in.grants, b.grantFinding),
		kindSecret:                derive.Map(g, findingNode(kindSecret), b.in.secrets, b.secretFinding),
		kindService:               derive.Map(g, findingNode(kindService), b.in.services, b.serviceFinding),
		kindServiceImport:         derive.Map(g, findingNode(kindServiceImport), b.in.imports, b.importFinding),
		kindTCPRoute:              derive.Map(g, findingNode(kindTCPRoute), b.in.tcpRoutes, b.tcpFinding),
		kindTLSRoute:              derive.Map(g, findingNode(kindTLSRoute), b.in.tlsRoutes, b.tlsFinding),
		kindUDPRoute:              derive.Map(g, findingNode(kindUDPRoute), b.in.udpRoutes, b.udpFinding),
		kindXBackend:              derive.Map(g, findingNode(kindXBackend), b.in.externals, b.externalFinding),
		kindXBackendTrafficPolicy: derive.Map(g, findingNode(kindXBackendTrafficPolicy), b.in.traffic, b.trafficFinding),
		kindXTelemetryPolicy:      derive.Map(g, findingNode(kindXTelemetryPolicy), b.in.telemetry, b.telemetryFinding),
	}
	for _, kind := range snapshot.Kinds {
		if _, ok := own[kind.Name]; !ok {
			objects := derive.Input[snapshot.Object](g, kind.Name)
			own[kind.Name] = derive.Map(g, findingNode(kind.Name), objects, b.otherFinding(kind))
		}
	}
	return Findings{own}
}

// findingNode names the function that decides over a kind.
func findingNode(kind string) string { return "finding " + kind }
