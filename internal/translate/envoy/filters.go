package envoy

import (
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_composite_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"
	envoy_cors_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	envoy_router_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	envoy_session_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// httpFilters are those of every listener, in the order in which requests pass
// them; answers pass them in reverse. Those that admit requests go first. All but the router do nothing until a route
// has settings for them. None is disabled meanwhile: a filter that is off when a
// request arrives stays off, whatever route a later lookup finds for its host.
func httpFilters(admits int) ([]*envoy_hcm_v3.HttpFilter, error) {
	all := append(admitFilters(admits), namedFilter{corsFilter, &envoy_cors_v3.Cors{}})
	for _, name := range authFilters {
		all = append(all, namedFilter{name, &envoy_composite_v3.Composite{}})
	}
	all = append(all,
		namedFilter{lifetimeFilter, lifetimeScripts()},
		namedFilter{sessionFilter, &envoy_session_v3.StatefulSession{}},
		namedFilter{"envoy.filters.http.router", &envoy_router_v3.Router{SuppressEnvoyHeaders: true}})
	var out []*envoy_hcm_v3.HttpFilter
	for _, f := range all {
		filter, err := httpFilter(f.name, f.config)
		if err != nil {
			return nil, err
		}
		out = append(out, filter)
	}
	return out, nil
}

// namedFilter is one filter with its settings for every route.
type namedFilter struct {
	name   string
	config message
}

// settings are what routes, hosts and shares configure filters with, by filter.
type settings = map[string]*anypb.Any

// configured adds settings of a filter to those of a route, or of a part of one.
func configured(all settings, filter string, with message) (settings, error) {
	config, err := pack(with)
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = settings{}
	}
	all[filter] = config
	return all, nil
}

// perRoute turns a filter on for a route, with these settings.
func perRoute(route *envoy_route_v3.Route, filter string, with message) (err error) {
	route.TypedPerFilterConfig, err = configured(route.TypedPerFilterConfig, filter, with)
	return err
}
