package compile

import (
	"slices"
	"strings"

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
	Headers  model.Filters // without the mirrors
	Mirrors  []mirrorWish
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
		f.Headers.Request = readEdit(*spec.RequestHeaderModifier)
		f.Invalid = first(f.Invalid, hostEdit(field+".requestHeaderModifier", f.Headers.Request))
	case spec.Type == gateway_v1.HTTPRouteFilterResponseHeaderModifier && spec.ResponseHeaderModifier != nil:
		f.Headers.Response = readEdit(*spec.ResponseHeaderModifier)
	case spec.Type == gateway_v1.HTTPRouteFilterRequestRedirect && spec.RequestRedirect != nil:
		redirect, why := readRedirect(field+".requestRedirect", *spec.RequestRedirect)
		f.Redirect, f.Invalid = redirect, first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterURLRewrite && spec.URLRewrite != nil:
		path, why := readPathEdit(field+".urlRewrite.path", spec.URLRewrite.Path)
		f.Rewrite = &model.Rewrite{Hostname: string(orElse(spec.URLRewrite.Hostname, "")), Path: path}
		f.Invalid = first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterRequestMirror && spec.RequestMirror != nil:
		wish, why := readMirror(field+".requestMirror", *spec.RequestMirror)
		f.Mirrors, f.Invalid = append(f.Mirrors, wish), first(f.Invalid, why)
	case spec.Type == gateway_v1.HTTPRouteFilterCORS && spec.CORS != nil:
		cors, why := readCORS(field+".cors", *spec.CORS)
		f.Headers.CORS, f.Invalid = cors, first(f.Invalid, why)
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
		f.Unresolved = first(f.Unresolved, problemf(verdict.InvalidKind, field+".extensionRef", "kind %q is no filter known here", kind))
	case gateway_v1.HTTPRouteFilterExternalAuth:
		f.Closed = first(f.Closed, problemf(verdict.NotYetSupported, field+".type", "%s is not served yet; requests answer 500 rather than skip it", spec.Type))
	default:
		f.Closed = first(f.Closed, problemf(verdict.UnsupportedValue, field+".type", "%q is no filter with its settings; requests answer 500 rather than skip it", spec.Type))
	}
}

// readEdit reads a header modifier. Names ignore case; of several entries with one
// name the first counts.
func readEdit(spec gateway_v1.HTTPHeaderFilter) model.HeaderEdit {
	var out model.HeaderEdit
	for _, name := range spec.Remove {
		out.Remove = append(out.Remove, strings.ToLower(name))
	}
	out.Remove = inOrderOnce(out.Remove)
	out.Set, out.Add = readEntries(spec.Set), readEntries(spec.Add)
	return out
}

func readEntries(specs []gateway_v1.HTTPHeader) []model.Header {
	var out []model.Header
	seen := map[string]bool{}
	for _, spec := range specs {
		name := strings.ToLower(string(spec.Name))
		if !seen[name] {
			out = append(out, model.Header{Name: name, Value: spec.Value})
		}
		seen[name] = true
	}
	return out
}

// hostEdit refuses edits of the Host header, which is no header to proxies.
func hostEdit(field string, edit model.HeaderEdit) *problem {
	names := slices.Clone(edit.Remove)
	for _, h := range edit.Set {
		names = append(names, h.Name)
	}
	for _, h := range edit.Add {
		names = append(names, h.Name)
	}
	for _, name := range names {
		if name == "host" {
			return problemf(verdict.UnsupportedValue, field, "%q: the host is changed by a URLRewrite filter with hostname", name)
		}
	}
	return nil
}
