package app

import (
	"github.com/gatehouse-proxy/gatehouse/internal/config"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
)

// opened says which feature switches are on.
func opened(f config.Features) func(snapshot.Feature) bool {
	return func(feature snapshot.Feature) bool {
		switch feature {
		case snapshot.FeatureExperimental:
			return f.Experimental
		case snapshot.FeatureXBackend:
			return f.XBackend
		default:
			return true
		}
	}
}
