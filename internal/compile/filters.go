package compile

import (
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// filterFeatures are the features of Gateway API that this file compiles.
var filterFeatures = featureNames{
	features.SupportHTTPRouteBackendRequestHeaderModification,
	features.SupportHTTPRouteBackendURLRewrite,
	features.SupportHTTPRouteHostRewrite,
	features.SupportHTTPRoutePathRewrite,
	features.SupportHTTPRouteResponseHeaderModification,
}

// filterSet is what the filters of one rule, or of one backend, add up to.
type filterSet struct {
	Headers  model.Filters // without what names backends
	Mirrors  []mirrorWish
	Auth     []authWish
	Redirect *model.Redirect
	Rewrite  *model.Rewrite
	// Invalid is a value that no rule may have: the rule is dropped.
	Invalid *problem
	// Closed is a filter that cannot be applied and must not be skipped: what it
	// stands on answers 500.
	Closed *problem
	// Unresolved is a filter that names something unknown, which closes it too.
	Unresolved *problem
}

// readFilters reads the filters of a rule or a backend.
func readFilters(field string, specs []gateway_v1.HTTPRouteFilter) filterSet {
	var out filterSet
	for i, spec := range specs {
		out.add(indexed(field, i), spec)
	}
	switch {
	case out.Redirect != nil && out.Rewrite != nil:
		out.Invalid = first(out.Invalid, problemf(verdict.IncompatibleFilters, field, "RequestRedirect and URLRewrite exclude each other"))
	case out.Redirect != nil && len(out.Mirrors) > 0:
		out.Invalid = first(out.Invalid, problemf(verdict.IncompatibleFilters, field, "RequestRedirect and RequestMirror exclude each other: a redirected request goes to no backend"))
	}
	return out
}

func (f *filterSet) add(field string, spec gateway_v1.HTTPRouteFilter) {
	switch {
	case spec.Type == gateway_v1.HTTPRouteFilterRequestHeaderModifier && spec.RequestHeaderModifier != nil:
		edit, why := readEdit(field+".requestHeaderModifier", *spec.RequestHeaderModifier)
		f.Headers.Request, f.Invalid = edit, first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterResponseHeaderModifier && spec.ResponseHeaderModifier != nil:
		edit, why := readEdit(field+".responseHeaderModifier", *spec.ResponseHeaderModifier)
		f.Headers.Response, f.Invalid = edit, first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterRequestRedirect && spec.RequestRedirect != nil:
		redirect, why := readRedirect(field+".requestRedirect", *spec.RequestRedirect)
		f.Redirect, f.Invalid = redirect, first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterURLRewrite && spec.URLRewrite != nil:
		rewrite, why := readRewrite(field+".urlRewrite", *spec.URLRewrite)
		f.Rewrite, f.Invalid = rewrite, first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterRequestMirror && spec.RequestMirror != nil:
		wish, why := readMirror(field+".requestMirror", *spec.RequestMirror)
		f.Mirrors, f.Invalid = append(f.Mirrors, wish), first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterCORS && spec.CORS != nil:
		cors, why := readCORS(field+".cors", *spec.CORS)
		f.Headers.CORS, f.Invalid = cors, first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterExternalAuth && spec.ExternalAuth != nil:
		wish, why := readAuth(field+".externalAuth", *spec.ExternalAuth)
		f.Auth, f.Closed = append(f.Auth, wish), first(f.Closed, why)
	default:
		f.close(field, spec)
	}
}

// close handles a filter that is not compiled. It is never skipped.
func (f *filterSet) close(field string, spec gateway_v1.HTTPRouteFilter) {
	switch spec.Type {
	case gateway_v1.HTTPRouteFilterExtensionRef:
		kind := ""
		if spec.ExtensionRef != nil {
			kind = string(spec.ExtensionRef.Kind)
		}
		f.Unresolved = first(f.Unresolved, problemf(verdict.InvalidKind, field+".extensionRef", "kind %q is no filter known here; requests of the rule answer 500", kind))
	default:
		f.Closed = first(f.Closed, problemf(verdict.UnsupportedValue, field+".type", "%q is no filter with its settings; requests answer 500 rather than skip it", spec.Type))
	}
}
