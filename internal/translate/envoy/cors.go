package envoy

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_cors_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	envoy_matcher_v3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// corsFilter is part of every listener, so that the first route that asks for it
// does not replace the listener.
const corsFilter = "envoy.filters.http.cors"

// anything allows every origin, method or header.
const anything = "*"

// cors lets a route answer preflights and mark answers. A preflight of an origin
// that is not allowed is answered without the headers that would allow it.
func cors(route *envoy_route_v3.Route, c *model.CORS) error {
	if c == nil {
		return nil
	}
	policy := &envoy_cors_v3.CorsPolicy{
		AllowMethods: strings.Join(c.Methods, ","), AllowHeaders: strings.Join(c.Headers, ","),
		AllowCredentials: wrapperspb.Bool(c.Credentials), ForwardNotMatchingPreflights: wrapperspb.Bool(false),
	}
	if !c.Credentials || !slices.Contains(c.Expose, anything) {
		policy.ExposeHeaders = strings.Join(c.Expose, ",")
	}
	if c.MaxAge > 0 {
		policy.MaxAge = strconv.FormatInt(int64(c.MaxAge/time.Second), 10)
	}
	for i, name := range slices.Concat(c.Methods, c.Headers, c.Expose) {
		if err := checkHeaderName("names["+strconv.Itoa(i)+"]", name); err != nil {
			return err
		}
	}
	for i, text := range c.Origins {
		matcher, err := originMatcher("origins["+strconv.Itoa(i)+"]", text)
		if err != nil {
			return err
		}
		policy.AllowOriginStringMatch = append(policy.AllowOriginStringMatch, matcher)
	}
	return perRoute(route, corsFilter, policy)
}

// originMatcher matches an origin as browsers send it, which is in lower case and
// without the port that the scheme implies.
func originMatcher(field, text string) (*envoy_matcher_v3.StringMatcher, error) {
	if text != anything {
		scheme, host, ok := strings.Cut(text, "://")
		if !ok || scheme == "" || host == "" {
			return nil, faultf(field, text, "not an origin: use scheme://host, with a port where it is not the scheme's own")
		}
		if !strings.Contains(text, anything) {
			return exactly(text), nil
		}
	}
	pattern := originPattern(text)
	if err := checkRegex(field, pattern); err != nil {
		return nil, err
	}
	return matching(pattern), nil
}

// originPattern is the expression of an origin; a wildcard stays within the host.
func originPattern(text string) string {
	if text == anything {
		return ".*"
	}
	return strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, "[^/:]*")
}
