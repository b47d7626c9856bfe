package compile

import (
	"slices"

	"sigs.k8s.io/gateway-api/pkg/features"
)

// supported are the features of Gateway API that compile and translate serve.
// Each is declared beside the code that compiles it, and has a scenario.
var supported = slices.Concat(
	gatewayFeatures, attachFeatures, tableFeatures, grantFeatures,
	matchFeatures, ruleFeatures, filterFeatures, redirectFeatures, mirrorFeatures, corsFeatures, limitFeatures, backendFeatures,
	grpcFeatures, streamFeatures, policyFeatures, clientFeatures,
)

// SupportedFeatures are the names of the served features of Gateway API, in order.
func SupportedFeatures() []string {
	names := make([]string, len(supported))
	for i, f := range supported {
		names[i] = string(f)
	}
	slices.Sort(names)
	return names
}

type featureNames = []features.FeatureName
