package compile

import (
	"slices"
	"strings"

	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
)

// matchFeatures are the features of Gateway API that this file compiles.
var matchFeatures = featureNames{
	features.SupportHTTPRouteMethodMatching,
	features.SupportHTTPRouteQueryParamMatching,
}

// readMatch turns one match of a rule into the model's.
func readMatch(field string, spec gateway_v1.HTTPRouteMatch) (model.Match, *problem) {
	path, why := readPath(field+".path", spec.Path)
	headers, inHeaders := readHeaders(field+".headers", spec.Headers)
	query, inQuery := readQuery(field+".queryParams", spec.QueryParams)
	return model.Match{
		Path: path, Method: string(orElse(spec.Method, "")), Headers: headers, Query: query,
	}, first(why, inHeaders, inQuery)
}

func readPath(field string, spec *gateway_v1.HTTPPathMatch) (model.PathMatch, *problem) {
	if spec == nil {
		return model.PathMatch{Kind: model.PathPrefix, Value: "/"}, nil
	}
	value := orElse(spec.Value, "/")
	switch kind := orElse(spec.Type, gateway_v1.PathMatchPathPrefix); kind {
	case gateway_v1.PathMatchExact:
		path, why := matchedPath(field+".value", value)
		return model.PathMatch{Kind: model.PathExact, Value: path}, why
	case gateway_v1.PathMatchPathPrefix:
		path, why := matchedPath(field+".value", value)
		return model.PathMatch{Kind: model.PathPrefix, Value: withoutSlash(path)}, why
	case gateway_v1.PathMatchRegularExpression:
		return model.PathMatch{Kind: model.PathRegex, Value: value}, expression(field+".value", value)
	default:
		return model.PathMatch{}, problemf(verdict.UnsupportedValue, field+".type", "%q: must be Exact, PathPrefix or RegularExpression", kind)
	}
}

// withoutSlash drops the trailing slashes of a prefix, which mean nothing.
func withoutSlash(prefix string) string {
	if short := strings.TrimRight(prefix, "/"); short != "" {
		return short
	}
	return "/"
}

// readHeaders reads header matches in order of name: of several with one name
// the first counts, and names ignore case.
func readHeaders(field string, specs []gateway_v1.HTTPHeaderMatch) ([]model.ValueMatch, *problem) {
	var out []model.ValueMatch
	var why *problem
	for i, spec := range specs {
		m := model.ValueMatch{Name: strings.ToLower(string(spec.Name)), Value: spec.Value}
		m.Regex = orElse(spec.Type, gateway_v1.HeaderMatchExact) == gateway_v1.HeaderMatchRegularExpression
		at := indexed(field, i)
		why = first(why, faulty(at+".name", m.Name, model.HeaderNameFault(m.Name)), valueProblem(at, m, string(orElse(spec.Type, gateway_v1.HeaderMatchExact))))
		if !m.Regex {
			why = first(why, faulty(at+".value", m.Value, model.HeaderValueFault(m.Value)))
		}
		out = append(out, m)
	}
	return firstByName(out), why
}

// readQuery reads query parameter matches likewise; their names are case-sensitive.
func readQuery(field string, specs []gateway_v1.HTTPQueryParamMatch) ([]model.ValueMatch, *problem) {
	var out []model.ValueMatch
	var why *problem
	for i, spec := range specs {
		m := model.ValueMatch{Name: string(spec.Name), Value: spec.Value}
		m.Regex = orElse(spec.Type, gateway_v1.QueryParamMatchExact) == gateway_v1.QueryParamMatchRegularExpression
		why = first(why, valueProblem(indexed(field, i), m, string(orElse(spec.Type, gateway_v1.QueryParamMatchExact))))
		out = append(out, m)
	}
	return firstByName(out), why
}

func valueProblem(field string, m model.ValueMatch, kind string) *problem {
	switch {
	case m.Regex:
		return expression(field+".value", m.Value)
	case kind != string(gateway_v1.HeaderMatchExact):
		return problemf(verdict.UnsupportedValue, field+".type", "%q: must be Exact or RegularExpression", kind)
	}
	return nil
}

func firstByName(matches []model.ValueMatch) []model.ValueMatch {
	slices.SortStableFunc(matches, func(a, b model.ValueMatch) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(matches, func(a, b model.ValueMatch) bool { return a.Name == b.Name })
}
