package envoy

import (
	"strconv"
	"strings"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// translateMatch makes a route's match; all of its parts must hold.
func translateMatch(m model.Match) (*envoy_route_v3.RouteMatch, error) {
	match, err := pathMatch(m.Path)
	if err != nil {
		return nil, within("match.path", err)
	}
	if m.GRPC {
		match.Grpc = &envoy_route_v3.RouteMatch_GrpcRouteMatchOptions{}
	}
	if m.Method != "" {
		if err := checkHeaderName("match.method", m.Method); err != nil {
			return nil, err
		}
		match.Headers = append(match.Headers, headerMatcher(":method", exactly(m.Method)))
	}
	for i, h := range m.Headers {
		field := "match.headers[" + strconv.Itoa(i) + "]"
		text, err := headerMatch(h)
		if err != nil {
			return nil, within(field, err)
		}
		match.Headers = append(match.Headers, headerMatcher(strings.ToLower(h.Name), text))
	}
	for i, q := range m.Query {
		field := "match.query[" + strconv.Itoa(i) + "]"
		text, err := queryMatch(q)
		if err != nil {
			return nil, within(field, err)
		}
		match.QueryParameters = append(match.QueryParameters, text)
	}
	return match, nil
}

// pathMatch compares the path without its query. A prefix is compared by path
// elements: a trailing slash is ignored, and "/" is every path.
func pathMatch(p model.PathMatch) (*envoy_route_v3.RouteMatch, error) {
	if p.Kind == model.PathRegex {
		if err := checkRegex("value", p.Value); err != nil {
			return nil, err
		}
		return &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_SafeRegex{SafeRegex: regex(p.Value)}}, nil
	}
	if p == (model.PathMatch{}) {
		return anyPath(), nil
	}
	if err := checkPath("value", p.Value); err != nil {
		return nil, err
	}
	switch p.Kind {
	case model.PathExact:
		return &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_Path{Path: p.Value}}, nil
	case model.PathPrefix:
		return prefixMatch(p.Value), nil
	case model.PathRegex:
	}
	return nil, faultf("kind", string(p.Kind), "unknown kind of path match: use Exact, Prefix or Regex")
}

func prefixMatch(value string) *envoy_route_v3.RouteMatch {
	elements := trimSlashes(value)
	if elements == "" {
		return anyPath()
	}
	return &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: elements}}
}

func anyPath() *envoy_route_v3.RouteMatch {
	return &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_Prefix{Prefix: "/"}}
}

// trimSlashes returns a prefix without trailing slashes; "/" becomes empty.
func trimSlashes(prefix string) string { return strings.TrimRight(prefix, "/") }

func headerMatch(h model.ValueMatch) (*envoy_matcher_v3.StringMatcher, error) {
	if err := checkHeaderName("name", h.Name); err != nil {
		return nil, err
	}
	if !h.Regex {
		if err := checkHeaderValue("value", h.Value); err != nil {
			return nil, err
		}
	}
	return textMatch(h)
}

func queryMatch(q model.ValueMatch) (*envoy_route_v3.QueryParameterMatcher, error) {
	if err := checkName("name", q.Name); err != nil {
		return nil, err
	}
	if !q.Regex {
		q = encoded(q)
	}
	text, err := textMatch(q)
	if err != nil {
		return nil, err
	}
	return &envoy_route_v3.QueryParameterMatcher{
		Name: q.Name,
		QueryParameterMatchSpecifier: &envoy_route_v3.QueryParameterMatcher_StringMatch{
			StringMatch: text,
		},
	}, nil
}

func textMatch(v model.ValueMatch) (*envoy_matcher_v3.StringMatcher, error) {
	if !v.Regex {
		return exactly(v.Value), nil
	}
	if err := checkRegex("value", v.Value); err != nil {
		return nil, err
	}
	return matching(v.Value), nil
}

func headerMatcher(name string, text *envoy_matcher_v3.StringMatcher) *envoy_route_v3.HeaderMatcher {
	return &envoy_route_v3.HeaderMatcher{
		Name:                 name,
		HeaderMatchSpecifier: &envoy_route_v3.HeaderMatcher_StringMatch{StringMatch: text},
	}
}

func exactly(value string) *envoy_matcher_v3.StringMatcher {
	return &envoy_matcher_v3.StringMatcher{MatchPattern: &envoy_matcher_v3.StringMatcher_Exact{Exact: value}}
}

// regex matches the whole text, as Envoy does wherever it takes a RegexMatcher.
func regex(pattern string) *envoy_matcher_v3.RegexMatcher {
	return &envoy_matcher_v3.RegexMatcher{Regex: pattern}
}
