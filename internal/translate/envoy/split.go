package envoy

import (
	"cmp"
	"math"
	"slices"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_type_v3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// million is the finest part of the whole that Envoy draws by.
const million = 1_000_000

// part is a route for some of the requests that a match takes.
type part struct {
	model.Route
	// Then are the header edits of the share, which come after the route's.
	Then model.Filters
	// UpTo is where the part ends, in millionths of all draws, each beginning
	// where the one before ends; 0 takes the rest.
	UpTo uint32
}

// parts makes a route of its own of each share, where a share asks for what
// Envoy has for whole routes only: mirrors, rewrites, redirects, CORS, auth. Envoy
// draws once for a request and compares that draw with the bound of every route,
// so that bounds that add up give each share its weight, to a millionth.
func parts(r model.Route) []part {
	if r.Forward == nil || !needsRoutes(r.Forward.Backends) {
		return []part{{Route: r}}
	}
	var sum, sofar uint64
	for _, b := range r.Forward.Backends {
		sum += uint64(b.Weight)
	}
	var out []part
	for _, b := range r.Forward.Backends {
		if b.Weight == 0 {
			continue
		}
		sofar += uint64(b.Weight)
		p := part{Route: shareRoute(r, b), Then: model.Filters{Request: b.Filters.Request, Response: b.Filters.Response}}
		if sofar < sum {
			p.UpTo = max(1, uint32(math.Round(float64(sofar)/float64(sum)*million)))
		}
		out = append(out, p)
	}
	return out
}

func needsRoutes(backends []model.WeightedBackend) bool {
	for _, b := range backends {
		if b.Weight > 0 && (b.Rewrite != nil || b.Redirect != nil || b.Filters.CORS != nil || len(b.Filters.Mirrors) > 0 || len(b.Filters.Auth) > 0) {
			return true
		}
	}
	return false
}

// shareRoute is what one share of a route asks for, as a route.
func shareRoute(r model.Route, b model.WeightedBackend) model.Route {
	whole := *r.Forward
	r.Forward = &whole
	r.Filters.Mirrors = slices.Concat(r.Filters.Mirrors, b.Filters.Mirrors)
	r.Filters.Auth = slices.Concat(r.Filters.Auth, b.Filters.Auth)
	r.Filters.CORS = cmp.Or(b.Filters.CORS, r.Filters.CORS)
	r.Rewrite = over(r.Rewrite, b.Rewrite)
	whole.Backends = []model.WeightedBackend{{Cluster: b.Cluster, Weight: 1, Session: b.Session}}
	if b.Redirect != nil {
		r.Redirect, r.Forward, r.Rewrite = b.Redirect, nil, nil
	}
	return r
}

// over lays one rewrite over another.
func over(below, above *model.Rewrite) *model.Rewrite {
	switch {
	case above == nil:
		return below
	case below == nil:
		return above
	default:
		return &model.Rewrite{Hostname: cmp.Or(above.Hostname, below.Hostname), Path: cmp.Or(above.Path, below.Path)}
	}
}

// drawn is a share of draws, as routes and mirrors have it.
func drawn(millionths uint32) *envoy_core_v3.RuntimeFractionalPercent {
	return &envoy_core_v3.RuntimeFractionalPercent{DefaultValue: &envoy_type_v3.FractionalPercent{
		Numerator: millionths, Denominator: envoy_type_v3.FractionalPercent_MILLION,
	}}
}
