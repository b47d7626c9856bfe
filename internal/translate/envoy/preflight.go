package envoy

import (
	"slices"
	"strings"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// preflightMethod is the method of preflights (Fetch standard, "CORS-preflight fetch").
const preflightMethod = "OPTIONS"

// answered makes what a CORS policy asks for of a route that answers by itself. Envoy's
// filter looks at routes with a cluster only, so that a redirect becomes up to three
// routes: a preflight goes to a cluster that does not exist and that it never reaches,
// because the filter answers each; a redirect of an allowed origin is marked, since
// browsers do not follow one that is not; and the others are redirected as they are.
// What a script could read of a redirect is not listed: none gets to see one.
func answered(route *envoy_route_v3.Route, method string, c *model.CORS) ([]*envoy_route_v3.Route, error) {
	if c == nil || route.GetRedirect() == nil {
		return []*envoy_route_v3.Route{route}, nil
	}
	policy := route.TypedPerFilterConfig[corsFilter]
	delete(route.TypedPerFilterConfig, corsFilter)
	varies := &envoy_core_v3.HeaderValueOption{
		Header: &envoy_core_v3.HeaderValue{Key: "vary", Value: "Origin"}, AppendAction: envoy_core_v3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD,
	}
	route.ResponseHeadersToAdd = append(route.ResponseHeadersToAdd, varies)
	var out []*envoy_route_v3.Route
	if method == "" || method == preflightMethod {
		out = append(out, &envoy_route_v3.Route{
			Name: route.Name, Match: asPreflight(route.Match, method), Action: nowhere(500),
			TypedPerFilterConfig: settings{corsFilter: policy},
		})
	}
	if len(c.Origins) > 0 {
		marked, err := markedRedirect(route, c)
		if err != nil {
			return nil, err
		}
		out = append(out, marked)
	}
	return append(out, route), nil
}

// asPreflight narrows a match to preflights, by the rule that Envoy's filter has.
func asPreflight(match *envoy_route_v3.RouteMatch, method string) *envoy_route_v3.RouteMatch {
	out := proto.CloneOf(match)
	if method == "" {
		out.Headers = append(out.Headers, headerMatcher(":method", exactly(preflightMethod)))
	}
	for _, name := range []string{"origin", "access-control-request-method"} {
		out.Headers = append(out.Headers, headerMatcher(name, matching(".+")))
	}
	return out
}

// markedRedirect narrows a redirect to allowed origins, and tells them so.
func markedRedirect(route *envoy_route_v3.Route, c *model.CORS) (*envoy_route_v3.Route, error) {
	var patterns []string
	for _, text := range c.Origins {
		patterns = append(patterns, originPattern(text))
	}
	pattern := strings.Join(patterns, "|")
	if err := checkRegex("origins", pattern); err != nil {
		return nil, err
	}
	out := proto.CloneOf(route)
	out.Match.Headers = append(out.Match.Headers, headerMatcher("origin", matching(pattern)))
	marks := []*envoy_core_v3.HeaderValueOption{marked("access-control-allow-origin", "%REQ(origin)%")}
	if c.Credentials {
		marks = append(marks, marked("access-control-allow-credentials", "true"))
	}
	out.ResponseHeadersToAdd = slices.Concat(out.ResponseHeadersToAdd, marks)
	return out, nil
}

func marked(name, value string) *envoy_core_v3.HeaderValueOption {
	return &envoy_core_v3.HeaderValueOption{
		Header:       &envoy_core_v3.HeaderValue{Key: name, Value: value},
		AppendAction: envoy_core_v3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// matching matches the whole text by a checked expression.
func matching(pattern string) *envoy_matcher_v3.StringMatcher {
	return &envoy_matcher_v3.StringMatcher{MatchPattern: &envoy_matcher_v3.StringMatcher_SafeRegex{SafeRegex: regex(pattern)}}
}

// nowhere answers as answer does, by a cluster that does not exist, so that the filters
// of a route with a cluster apply to it.
func nowhere(status uint32) *envoy_route_v3.Route_Route {
	code := envoy_route_v3.RouteAction_INTERNAL_SERVER_ERROR
	if status == 503 {
		code = envoy_route_v3.RouteAction_SERVICE_UNAVAILABLE
	}
	return &envoy_route_v3.Route_Route{Route: &envoy_route_v3.RouteAction{
		ClusterSpecifier: &envoy_route_v3.RouteAction_Cluster{Cluster: noBackend}, ClusterNotFoundResponseCode: code,
	}}
}

// closed answers with the status of what has no backend. Where there is a CORS policy
// preflights are answered by it, and scripts may read the status.
func closed(route *envoy_route_v3.Route, status uint32, c *model.CORS) {
	if c != nil && (status == 500 || status == 503) {
		route.Action = nowhere(status)
		return
	}
	route.Action = answer(status)
}
