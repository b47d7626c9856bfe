package envoy

import (
	"strconv"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// translateRoute makes one route of the virtual host of a domain, and names the
// clusters that it uses.
func translateRoute(domain string, r model.Route) (*envoy_route_v3.Route, []xdsserve.Name, error) {
	if err := checkName("name", r.Name); err != nil {
		return nil, nil, err
	}
	match, err := translateMatch(r.Match)
	if err != nil {
		return nil, nil, err
	}
	route := &envoy_route_v3.Route{Name: r.Name, Match: match}
	uses, err := act(route, domain, r)
	if err != nil {
		return nil, nil, err
	}
	return route, uses, route.ValidateAll()
}

// act sets what the route does with a request, and with the answer.
func act(route *envoy_route_v3.Route, domain string, r model.Route) ([]xdsserve.Name, error) {
	edits, err := translateFilters(r.Filters)
	if err != nil {
		return nil, within("filters", err)
	}
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
		return forward(route, r, edits)
	case r.Status >= 200 && r.Status <= 599:
		route.Action = answer(r.Status)
	default:
		return nil, faultf("status", strconv.FormatUint(uint64(r.Status), 10), "the route has no action: give it backends, a redirect or a status from 200 to 599")
	}
	edits.onRoute(route)
	return nil, nil
}

func answer(status uint32) *envoy_route_v3.Route_DirectResponse {
	return &envoy_route_v3.Route_DirectResponse{DirectResponse: &envoy_route_v3.DirectResponseAction{Status: status}}
}
