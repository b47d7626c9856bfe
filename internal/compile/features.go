package compile

import (
	"slices"

	"sigs.k8s.io/gateway-api/pkg/features"
)

// supported are the features of Gateway API that compile and translate serve.
// Each is declared beside the code that compiles it, and has a scenario.
var supported = slices.Concat(
	gatewayFeatures, setFeatures, attachFeatures, tableFeatures, entranceFeatures, grantFeatures,
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

// omitted are the features of gateways that are not served, and why.
var omitted = map[features.FeatureName]string{
	features.SupportGatewayAddressRoutability:        "where an address can be reached from is up to the machine's network; an entry that asks for it has no address, and conditions say so",
	features.SupportGatewayAddressRoutabilityCluster: "standalone there are no addresses of Services; treated as GatewayAddressRoutability",
	features.SupportGatewayInfrastructure:            "nothing is created for a Gateway that could carry labels and annotations: a proxy is a process",
}

// UnservedFeatures are the names of the features of gateways that are not served,
// each with the reason.
func UnservedFeatures() map[string]string {
	out := map[string]string{}
	for name, why := range omitted {
		if !slices.Contains(supported, name) {
			out[string(name)] = why
		}
	}
	return out
}

type featureNames = []features.FeatureName
