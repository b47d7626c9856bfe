package compile

import (
	certificates_v1beta1 "k8s.io/api/certificates/v1beta1"
	core_v1 "k8s.io/api/core/v1"
	discovery_v1 "k8s.io/api/discovery/v1"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	gateway_xv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	mcs_v1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	gatehouse_v1alpha1 "github.com/gatehouse-proxy/gatehouse/api/gateway/v1alpha1"
	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// inputs are the kinds of objects that the model is made of.
type inputs struct {
	classes    derive.Collection[*gateway_v1.GatewayClass]
	configs    derive.Collection[*gatehouse_v1alpha1.GatewayConfig]
	gateways   derive.Collection[*gateway_v1.Gateway]
	sets       derive.Collection[*gateway_v1.ListenerSet]
	httpRoutes derive.Collection[*gateway_v1.HTTPRoute]
	grpcRoutes derive.Collection[*gateway_v1.GRPCRoute]
	tcpRoutes  derive.Collection[*gateway_v1.TCPRoute]
	tlsRoutes  derive.Collection[*gateway_v1.TLSRoute]
	udpRoutes  derive.Collection[*gateway_v1.UDPRoute]
	grants     derive.Collection[*gateway_v1.ReferenceGrant]
	policies   derive.Collection[*gateway_v1.BackendTLSPolicy]
	configMaps derive.Collection[*core_v1.ConfigMap]
	bundles    derive.Collection[*certificates_v1beta1.ClusterTrustBundle]
	externals  derive.Collection[*gateway_xv1alpha1.XBackend]
	traffic    derive.Collection[*gateway_xv1alpha1.XBackendTrafficPolicy]
	telemetry  derive.Collection[*gateway_xv1alpha1.XTelemetryPolicy]
	services   derive.Collection[*core_v1.Service]
	imports    derive.Collection[*mcs_v1alpha1.ServiceImport]
	slices     derive.Collection[*discovery_v1.EndpointSlice]
	secrets    derive.Collection[*core_v1.Secret]
	namespaces derive.Collection[*core_v1.Namespace]
	layouts    derive.Collection[model.Layout] // by TableID: what was decided last
}

func readInputs(g *derive.Graph) inputs {
	return inputs{
		classes:    derive.Input[*gateway_v1.GatewayClass](g, kindGatewayClass),
		configs:    derive.Input[*gatehouse_v1alpha1.GatewayConfig](g, kindGatewayConfig),
		gateways:   derive.Input[*gateway_v1.Gateway](g, kindGateway),
		sets:       derive.Input[*gateway_v1.ListenerSet](g, kindListenerSet),
		grpcRoutes: derive.Input[*gateway_v1.GRPCRoute](g, kindGRPCRoute),
		httpRoutes: derive.Input[*gateway_v1.HTTPRoute](g, kindHTTPRoute),
		tcpRoutes:  derive.Input[*gateway_v1.TCPRoute](g, kindTCPRoute),
		tlsRoutes:  derive.Input[*gateway_v1.TLSRoute](g, kindTLSRoute),
		udpRoutes:  derive.Input[*gateway_v1.UDPRoute](g, kindUDPRoute),
		grants:     derive.Input[*gateway_v1.ReferenceGrant](g, kindReferenceGrant),
		policies:   derive.Input[*gateway_v1.BackendTLSPolicy](g, kindBackendTLSPolicy),
		configMaps: derive.Input[*core_v1.ConfigMap](g, kindConfigMap),
		bundles:    derive.Input[*certificates_v1beta1.ClusterTrustBundle](g, kindClusterTrustBundle),
		externals:  derive.Input[*gateway_xv1alpha1.XBackend](g, kindXBackend),
		traffic:    derive.Input[*gateway_xv1alpha1.XBackendTrafficPolicy](g, kindXBackendTrafficPolicy),
		telemetry:  derive.Input[*gateway_xv1alpha1.XTelemetryPolicy](g, kindXTelemetryPolicy),
		services:   derive.Input[*core_v1.Service](g, kindService),
		imports:    derive.Input[*mcs_v1alpha1.ServiceImport](g, kindServiceImport),
		slices:     derive.Input[*discovery_v1.EndpointSlice](g, kindEndpointSlice),
		secrets:    derive.Input[*core_v1.Secret](g, kindSecret),
		namespaces: derive.Input[*core_v1.Namespace](g, kindNamespace),
		layouts:    derive.Input[model.Layout](g, model.LayoutCollection),
	}
}
