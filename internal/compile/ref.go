package compile

import (
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

const (
	gatewayGroup  = gateway_v1.GroupName
	gatewayXGroup = "gateway.networking.x-k8s.io"
	mcsGroup      = "multicluster.x-k8s.io"

	kindBackendTLSPolicy      = "BackendTLSPolicy"
	kindClusterTrustBundle    = "ClusterTrustBundle"
	kindConfigMap             = "ConfigMap"
	kindEndpointSlice         = "EndpointSlice"
	kindGRPCRoute             = "GRPCRoute"
	kindGateway               = "Gateway"
	kindGatewayClass          = "GatewayClass"
	kindGatewayConfig         = "GatewayConfig"
	kindHTTPRoute             = "HTTPRoute"
	kindListenerSet           = "ListenerSet"
	kindNamespace             = "Namespace"
	kindReferenceGrant        = "ReferenceGrant"
	kindSecret                = "Secret"
	kindService               = "Service"
	kindServiceImport         = "ServiceImport"
	kindTCPRoute              = "TCPRoute"
	kindTLSRoute              = "TLSRoute"
	kindUDPRoute              = "UDPRoute"
	kindXBackend              = "XBackend"
	kindXBackendTrafficPolicy = "XBackendTrafficPolicy"
	kindXTelemetryPolicy      = "XTelemetryPolicy"
)

// Routes of the kinds that share hosts are known by "Kind namespace/name" where
// they meet; these are what such a name begins with.
const (
	grpcIdent = kindGRPCRoute + " "
	httpIdent = kindHTTPRoute + " "
	tcpIdent  = kindTCPRoute + " "
	tlsIdent  = kindTLSRoute + " "
	udpIdent  = kindUDPRoute + " "
)

// routeRef is the route that an identity names.
func routeRef(ident string) store.Key {
	kind, name, _ := strings.Cut(ident, " ")
	return store.Key{Collection: kind, Name: name}
}

// gatewayRef is a Gateway in the view.
func gatewayRef(id model.GatewayID) store.Key {
	return store.Key{Collection: kindGateway, Name: string(id)}
}

// orElse is the value that p points to, or otherwise the default.
func orElse[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// groupOf is the group of a kind that refers to others.
func groupOf(kind string) string {
	if kind == kindXBackend || kind == kindXTelemetryPolicy {
		return gatewayXGroup
	}
	return gatewayGroup
}

// target is an object that a reference names.
type target struct {
	Group, Kind, Namespace, Name string
}

// key is the target in the view; kinds of different groups have different names there.
func (t target) key() store.Key { return snapshot.Ref(t.Kind, t.Namespace, t.Name) }

func (t target) String() string { return t.key().String() }

// name is "namespace/name".
func (t target) name() string { return snapshot.NamespacedName(t.Namespace, t.Name) }

// is reports whether the target is of a kind.
func (t target) is(group, kind string) bool { return t.Group == group && t.Kind == kind }

func parentTarget(ref gateway_v1.ParentReference, namespace string) target {
	return target{
		Group:     string(orElse(ref.Group, gatewayGroup)),
		Kind:      string(orElse(ref.Kind, kindGateway)),
		Namespace: string(orElse(ref.Namespace, gateway_v1.Namespace(namespace))),
		Name:      string(ref.Name),
	}
}

func backendTarget(ref gateway_v1.BackendObjectReference, namespace string) target {
	return target{
		Group:     string(orElse(ref.Group, "")),
		Kind:      string(orElse(ref.Kind, kindService)),
		Namespace: string(orElse(ref.Namespace, gateway_v1.Namespace(namespace))),
		Name:      string(ref.Name),
	}
}

func secretTarget(ref gateway_v1.SecretObjectReference, namespace string) target {
	return target{
		Group:     string(orElse(ref.Group, "")),
		Kind:      string(orElse(ref.Kind, kindSecret)),
		Namespace: string(orElse(ref.Namespace, gateway_v1.Namespace(namespace))),
		Name:      string(ref.Name),
	}
}
