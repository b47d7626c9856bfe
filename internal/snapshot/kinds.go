package snapshot

import (
	"fmt"
	"strings"

	certificates_v1beta1 "k8s.io/api/certificates/v1beta1"
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	meta_v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcs_v1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	gatehouse_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/gateway/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// Object is what the API types have in common; values of the view are pointers
// to the Go type that Kind.New returns.
type Object = meta_v1.Object

// Feature is a switch of the static configuration that opens a kind.
type Feature string

// Feature switches. The empty Feature is always open.
const (
	FeatureExperimental Feature = "features.experimental"
	FeatureXBackend     Feature = "features.xbackend"
)

// Remedy says how to open what the feature opens, for example "set
// features.experimental to true (--features-experimental)".
func (f Feature) Remedy() string {
	return fmt.Sprintf("set %s to true (--%s)", f, strings.ReplaceAll(string(f), ".", "-"))
}

// Kind is one kind of object that Gatehouse observes.
type Kind struct {
	// Name is the kind, which is also the name of its collection in the view.
	Name  string
	Group string
	// Versions that are read, preferred first; objects are converted to the Go
	// type of New, whose JSON form is the same for all of them.
	Versions []string
	Plural   string
	// ClusterScoped objects have no namespace.
	ClusterScoped bool
	// Feature opens the kind; empty means always open.
	Feature Feature
	// New returns a pointer to an empty value of the kind's Go type.
	New func() Object
}

// Kinds are all kinds in order of name. It must not be changed.
var Kinds = []Kind{
	{Name: "BackendTLSPolicy", Group: gateway, Versions: []string{"v1", "v1alpha3"}, Plural: "backendtlspolicies", New: func() Object { return new(gateway_v1.BackendTLSPolicy) }},
	{Name: "ClusterTrustBundle", Group: "certificates.k8s.io", Versions: []string{"v1beta1", "v1alpha1", "v1"}, Plural: "clustertrustbundles", ClusterScoped: true, New: func() Object { return new(certificates_v1beta1.ClusterTrustBundle) }},
	{Name: "ConfigMap", Versions: []string{"v1"}, Plural: "configmaps", New: func() Object { return new(core_v1.ConfigMap) }},
	{Name: "EndpointSlice", Group: "discovery.k8s.io", Versions: []string{"v1"}, Plural: "endpointslices", New: func() Object { return new(discovery_v1.EndpointSlice) }},
	{Name: "GRPCRoute", Group: gateway, Versions: []string{"v1"}, Plural: "grpcroutes", New: func() Object { return new(gateway_v1.GRPCRoute) }},
	{Name: "Gateway", Group: gateway, Versions: []string{"v1", "v1beta1"}, Plural: "gateways", New: func() Object { return new(gateway_v1.Gateway) }},
	{Name: "GatewayClass", Group: gateway, Versions: []string{"v1", "v1beta1"}, Plural: "gatewayclasses", ClusterScoped: true, New: func() Object { return new(gateway_v1.GatewayClass) }},
	{Name: "GatewayConfig", Group: gatehouse_v1alpha1.Group, Versions: []string{gatehouse_v1alpha1.Version}, Plural: "gatewayconfigs", New: func() Object { return new(gatehouse_v1alpha1.GatewayConfig) }},
	{Name: "HTTPRoute", Group: gateway, Versions: []string{"v1", "v1beta1"}, Plural: "httproutes", New: func() Object { return new(gateway_v1.HTTPRoute) }},
	{Name: "ListenerSet", Group: gateway, Versions: []string{"v1"}, Plural: "listenersets", New: func() Object { return new(gateway_v1.ListenerSet) }},
	{Name: "Namespace", Versions: []string{"v1"}, Plural: "namespaces", ClusterScoped: true, New: func() Object { return new(core_v1.Namespace) }},
	{Name: "ReferenceGrant", Group: gateway, Versions: []string{"v1", "v1beta1"}, Plural: "referencegrants", New: func() Object { return new(gateway_v1.ReferenceGrant) }},
	{Name: "Secret", Versions: []string{"v1"}, Plural: "secrets", New: func() Object { return new(core_v1.Secret) }},
	{Name: "Service", Versions: []string{"v1"}, Plural: "services", New: func() Object { return new(core_v1.Service) }},
	{Name: "ServiceImport", Group: "multicluster.x-k8s.io", Versions: []string{"v1alpha1"}, Plural: "serviceimports", New: func() Object { return new(mcs_v1alpha1.ServiceImport) }},
	{Name: "TCPRoute", Group: gateway, Versions: []string{"v1", "v1alpha2"}, Plural: "tcproutes", New: func() Object { return new(gateway_v1.TCPRoute) }},
	{Name: "TLSRoute", Group: gateway, Versions: []string{"v1", "v1alpha3", "v1alpha2"}, Plural: "tlsroutes", New: func() Object { return new(gateway_v1.TLSRoute) }},
	{Name: "UDPRoute", Group: gateway, Versions: []string{"v1", "v1alpha2"}, Plural: "udproutes", New: func() Object { return new(gateway_v1.UDPRoute) }},
	{Name: "XBackend", Group: gatewayX, Versions: []string{"v1alpha1"}, Plural: "xbackends", Feature: FeatureXBackend, New: func() Object { return new(gateway_xv1alpha1.XBackend) }},
	{Name: "XBackendTrafficPolicy", Group: gatewayX, Versions: []string{"v1alpha1"}, Plural: "xbackendtrafficpolicies", Feature: FeatureExperimental, New: func() Object { return new(gateway_xv1alpha1.XBackendTrafficPolicy) }},
	{Name: "XMesh", Group: gatewayX, Versions: []string{"v1alpha1"}, Plural: "xmeshes", ClusterScoped: true, Feature: FeatureExperimental, New: func() Object { return new(gateway_xv1alpha1.XMesh) }},
	{Name: "XTelemetryPolicy", Group: gatewayX, Versions: []string{"v1alpha1"}, Plural: "xtelemetrypolicies", Feature: FeatureExperimental, New: func() Object { return new(gateway_xv1alpha1.XTelemetryPolicy) }},
}

// RouteKinds are the kinds of routes that listeners of each protocol take, in order of
// name. It must not be changed.
var RouteKinds = map[gateway_v1.ProtocolType][]string{
	gateway_v1.HTTPProtocolType:  {"GRPCRoute", "HTTPRoute"},
	gateway_v1.HTTPSProtocolType: {"GRPCRoute", "HTTPRoute"},
	gateway_v1.TLSProtocolType:   {"TLSRoute"},
	gateway_v1.TCPProtocolType:   {"TCPRoute"},
	gateway_v1.UDPProtocolType:   {"UDPRoute"},
}

const (
	gateway  = gateway_v1.GroupName
	gatewayX = "gateway.networking.x-k8s.io"
)

// KindOf returns the kind with this name, plural, or lower-case name.
func KindOf(name string) (Kind, bool) {
	for _, k := range Kinds {
		if strings.EqualFold(k.Name, name) || strings.EqualFold(k.Plural, name) {
			return k, true
		}
	}
	return Kind{}, false
}

// Ref returns the key of an object in the view: its kind, and "namespace/name"
// or, without a namespace, "name".
func Ref(kind, namespace, name string) store.Key {
	return store.Key{Collection: kind, Name: NamespacedName(namespace, name)}
}

// NamespacedName joins a namespace and a name; an empty namespace gives the name alone.
func NamespacedName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// SplitName undoes NamespacedName.
func SplitName(s string) (namespace, name string) {
	if ns, n, ok := strings.Cut(s, "/"); ok {
		return ns, n
	}
	return "", s
}
