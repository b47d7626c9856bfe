package envoy

import (
	"errors"
	"strconv"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// translateRoute makes the routes of one route of the virtual host of a domain,
// one unless its shares or its CORS policy need several, and names the clusters that they use.
func translateRoute(domain string, r model.Route) ([]*envoy_route_v3.Route, []xdsserve.Name, error) {
	var out []*envoy_route_v3.Route
	var uses []xdsserve.Name
	for _, p := range parts(r) {
		routes, used, err := translatePart(domain, p)
		if err != nil {
			return nil, nil, err
		}
		out, uses = append(out, routes...), append(uses, used...)
	}
	return out, uses, nil
}

func translatePart(domain string, p part) ([]*envoy_route_v3.Route, []xdsserve.Name, error) {
	if err := checkName("name", p.Name); err != nil {
		return nil, nil, err
	}
	match, err := translateMatch(p.Match)
	if err != nil {
		return nil, nil, err
	}
	if p.UpTo > 0 {
		match.RuntimeFraction = drawn(p.UpTo)
	}
	route := &envoy_route_v3.Route{Name: p.Name, Match: match}
	uses, err := act(route, domain, p)
	if err != nil {
		return nil, nil, err
	}
	if err := cors(route, p.Filters.CORS); err != nil {
		return nil, nil, within("filters.cors", err)
	}
	asked, err := authorize(route, p.Filters.Auth)
	if err != nil {
		return nil, nil, within("filters", err)
	}
	out, err := answered(route, p.Match.Method, p.Filters.CORS)
	if err != nil {
		return nil, nil, within("filters.cors", err)
	}
	for _, r := range out {
		err = errors.Join(err, r.ValidateAll())
	}
	return out, append(uses, asked...), err
}

// act sets what the route does with a request, and with the answer.
func act(route *envoy_route_v3.Route, domain string, r part) ([]xdsserve.Name, error) {
	edits, err := translateFilters(r.Filters)
	if err != nil {
		return nil, within("filters", err)
	}
	then, err := translateFilters(r.Then)
	if err != nil {
		return nil, within("forward.backends.filters", err)
	}
	edits = edits.then(then)
	switch {
	case r.Redirect != nil:
		redirect, err := translateRedirect(domain, r.Match.Path, *r.Redirect)
		if err != nil {
			return nil, within("redirect", err)
		}
		route.Action = &envoy_route_v3.Route_Redirect{Redirect: redirect}
		if bringsPort(*r.Redirect) && isWildcard(domain) {
			edits = dropPort().then(edits)
		}
	case r.Forward != nil:
		return forward(route, r.Route, edits)
	case r.Status >= 200 && r.Status <= 599:
		closed(route, r.Status, r.Filters.CORS)
	default:
		return nil, faultf("status", strconv.FormatUint(uint64(r.Status), 10), "the route has no action: give it backends, a redirect or a status from 200 to 599")
	}
	edits.onRoute(route)
	return nil, nil
}

func answer(status uint32) *envoy_route_v3.Route_DirectResponse {
	return &envoy_route_v3.Route_DirectResponse{DirectResponse: &envoy_route_v3.DirectResponseAction{Status: status}}
}
