package compile

import (
	"math"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// mirrorFeatures are the features of Gateway API that this file compiles.
var mirrorFeatures = featureNames{
	features.SupportHTTPRouteRequestMirror,
	features.SupportHTTPRouteRequestMultipleMirrors,
	features.SupportHTTPRouteRequestPercentageMirror,
}

const million = 1_000_000

// mirrorWish is a RequestMirror filter before its backend is resolved.
type mirrorWish struct {
	Field      string // of the backendRef
	To         gateway_v1.BackendObjectReference
	Millionths uint32
}

// readMirror reads a RequestMirror filter.
func readMirror(field string, spec gateway_v1.HTTPRequestMirrorFilter) (mirrorWish, *problem) {
	out := mirrorWish{Field: field + ".backendRef", To: spec.BackendRef, Millionths: million}
	switch {
	case spec.Percent != nil && spec.Fraction != nil:
		return out, problemf(verdict.UnsupportedValue, field, "percent and fraction exclude each other")
	case spec.Percent != nil:
		if *spec.Percent < 0 || *spec.Percent > 100 {
			return out, problemf(verdict.UnsupportedValue, field+".percent", "%d: must be between 0 and 100", *spec.Percent)
		}
		out.Millionths = uint32(*spec.Percent) * (million / 100)
	case spec.Fraction != nil:
		var why *problem
		out.Millionths, why = readFraction(field+".fraction", *spec.Fraction)
		return out, why
	}
	return out, nil
}

// readFraction reads a part of a whole, in millionths.
func readFraction(field string, f gateway_v1.Fraction) (uint32, *problem) {
	n, of := f.Numerator, orElse(f.Denominator, 100)
	if of < 1 || n < 0 || n > of {
		return 0, problemf(verdict.UnsupportedValue, field, "%d/%d: must be between 0 and 1", n, of)
	}
	return millionths(n, of), nil
}

// millionths rounds a fraction; what is above nothing stays above it.
func millionths(n, of int32) uint32 {
	if n == 0 {
		return 0
	}
	return max(1, uint32(math.Round(float64(n)/float64(of)*million)))
}

// mirrors resolves the backends that requests are copied to. As the specification
// has it, one that cannot be used is left out, and requests pass without.
func (b *build) mirrors(c *derive.Ctx, from referrer, wishes []mirrorWish, r *rule) []model.Mirror {
	var out []model.Mirror
	for _, wish := range wishes {
		found := b.resolve(c, wish.Field, from, wish.To)
		if found.Problem != nil {
			why := *found.Problem
			why.Message += "; requests are not mirrored there"
			r.Unresolved = append(r.Unresolved, &why)
			r.Uses = append(r.Uses, found.Uses...)
			continue
		}
		if wish.Millionths == 0 {
			continue
		}
		r.Uses = append(r.Uses, found.Uses...)
		r.Clusters = append(r.Clusters, found.Cluster)
		out = append(out, model.Mirror{Cluster: found.Cluster.ID, Millionths: wish.Millionths})
	}
	return out
}
