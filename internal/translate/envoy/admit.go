package envoy

import (
	"strconv"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_composite_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// admitFilter names the filters that ask the services of a Gateway API listener, one
// each, in order. They go before all others, do nothing in the listener, and are given
// a whole filter by each host: requests are told apart by host alone before they are
// routed. What a service changes is looked up again, in the same host.
func admitFilter(i int) string { return "gatehouse.admit." + strconv.Itoa(i+1) }

// admitFilters are those of a listener whose hosts ask so many services. There is one
// at least: the first filter of a listener is then no change to its connections.
func admitFilters(most int) []namedFilter {
	out := make([]namedFilter, max(1, most))
	for i := range out {
		out[i] = namedFilter{admitFilter(i), &envoy_composite_v3.Composite{}}
	}
	return out
}

// admit lets a host ask services about each request before it is routed, and names
// their clusters. Envoy has no settings of a host for requests that no route of it
// takes, so that its last route takes them all.
func admit(host *envoy_route_v3.VirtualHost, services []model.Auth) ([]xdsserve.Name, error) {
	if len(services) == 0 {
		return nil, nil
	}
	if n := len(services); n > model.MaxAdmit {
		return nil, faultf("admit", strconv.Itoa(n), "a listener can ask %d services: leave some out", model.MaxAdmit)
	}
	var uses []xdsserve.Name
	for i, s := range services {
		ask, err := askInstead(s, true)
		if err != nil {
			return nil, within("admit["+strconv.Itoa(i)+"]", err)
		}
		if host.TypedPerFilterConfig, err = configured(host.TypedPerFilterConfig, admitFilter(i), ask); err != nil {
			return nil, err
		}
		uses = append(uses, xdsserve.Name{Type: xdsserve.Cluster, Name: string(s.Cluster)})
	}
	takeAll(host)
	return uses, nil
}

// notFound is the name of the route that takes what no other of its host does.
const notFound = "not found"

// takeAll ends a host with a route for every request, if it has none such yet.
func takeAll(host *envoy_route_v3.VirtualHost) {
	if n := len(host.Routes); n == 0 || host.Routes[n-1].GetName() != notFound {
		host.Routes = append(host.Routes, &envoy_route_v3.Route{Name: notFound, Match: anyPath(), Action: answer(404)})
	}
}

// closedHost is a host that answers every request with 500.
func closedHost(domain string) *envoy_route_v3.VirtualHost {
	return &envoy_route_v3.VirtualHost{Name: domain, Domains: []string{domain}, Routes: []*envoy_route_v3.Route{{
		Name: "closed", Match: anyPath(), Action: answer(uint32(unanswered)),
	}}}
}
