package compile

import (
	"slices"

	"sigs.k8s.io/gateway-api/pkg/features"
)

// supported are the features of Gateway API that compile and translate serve.
// A feature enters the list together with the test that proves it.
var supported = []features.FeatureName{
	features.SupportGateway,
	features.SupportGatewayAddressEmpty,
	features.SupportGatewayHTTPListenerIsolation,
	features.SupportGatewayPort8080,
	features.SupportGatewayRouteHostnameIntersectionPrecedence,
	features.SupportGatewayStaticAddresses,
	features.SupportHTTPRoute,
	features.SupportHTTPRoute303RedirectStatusCode,
	features.SupportHTTPRoute307RedirectStatusCode,
	features.SupportHTTPRoute308RedirectStatusCode,
	features.SupportHTTPRouteBackendProtocolH2C,
	features.SupportHTTPRouteBackendRequestHeaderModification,
	features.SupportHTTPRouteBackendTimeout,
	features.SupportHTTPRouteHostRewrite,
	features.SupportHTTPRouteMethodMatching,
	features.SupportHTTPRouteNamedRouteRule,
	features.SupportHTTPRouteParentRefPort,
	features.SupportHTTPRoutePathRedirect,
	features.SupportHTTPRoutePathRewrite,
	features.SupportHTTPRoutePortRedirect,
	features.SupportHTTPRouteQueryParamMatching,
	features.SupportHTTPRouteRequestTimeout,
	features.SupportHTTPRouteResponseHeaderModification,
	features.SupportHTTPRouteSchemeRedirect,
	features.SupportReferenceGrant,
	features.SupportTCPRoute,
	features.SupportGatewayHTTPSListenerDetectMisdirectedRequests,
}

// SupportedFeatures are the names of the served features of Gateway API, in order.
func SupportedFeatures() []string {
	names := make([]string, len(supported))
	for i, f := range supported {
		names[i] = string(f)
	}
	slices.Sort(names)
	return names
}
