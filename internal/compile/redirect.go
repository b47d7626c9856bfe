package compile

import (
	"slices"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// redirectFeatures are the features of Gateway API that this file compiles.
var redirectFeatures = featureNames{
	features.SupportHTTPRoute303RedirectStatusCode,
	features.SupportHTTPRoute307RedirectStatusCode,
	features.SupportHTTPRoute308RedirectStatusCode,
	features.SupportHTTPRoutePathRedirect,
	features.SupportHTTPRoutePortRedirect,
	features.SupportHTTPRouteSchemeRedirect,
}

var (
	redirectStatuses = []int{301, 302, 303, 307, 308}
	redirectSchemes  = []string{"", "http", "https"}
	wellKnownPorts   = map[string]uint16{"http": 80, "https": 443}
)

func readRedirect(field string, spec gateway_v1.HTTPRequestRedirectFilter) (*model.Redirect, *problem) {
	path, why := readPathEdit(field+".path", spec.Path)
	name, inName := newHostname(field+".hostname", spec.Hostname)
	why = first(inName, why)
	out := &model.Redirect{
		Scheme: orElse(spec.Scheme, ""), Hostname: name,
		Port: uint16(orElse(spec.Port, 0)), Path: path, Status: uint32(orElse(spec.StatusCode, 302)),
	}
	switch {
	case !slices.Contains(redirectSchemes, out.Scheme):
		why = first(why, problemf(verdict.UnsupportedValue, field+".scheme", "%q: must be http or https", out.Scheme))
	case !slices.Contains(redirectStatuses, int(out.Status)):
		why = first(why, problemf(verdict.UnsupportedValue, field+".statusCode", "%d: must be 301, 302, 303, 307 or 308", out.Status))
	}
	return out, why
}

// land settles the port of a redirect that is served by a listener: without one
// it is the well-known port of the scheme, or without a scheme the listener's;
// and a port that the scheme implies is left out of the Location, which then names
// the scheme, so that the port of the request is left out too.
func land(r model.Redirect, protocol model.Protocol, listener uint16) model.Redirect {
	scheme := r.Scheme
	if scheme == "" {
		scheme = "http"
		if protocol == model.HTTPS {
			scheme = "https"
		}
	}
	if r.Port == 0 && r.Scheme == "" {
		r.Port = listener
	}
	if r.Port == wellKnownPorts[scheme] {
		r.Scheme, r.Port = scheme, 0
	}
	return r
}
