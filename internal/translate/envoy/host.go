package envoy

import (
	"bytes"
	"slices"
	"strings"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// fragment is one virtual host as its route table carries it: encoded once, so
// that the table is put together by copying.
type fragment struct {
	table  model.TableID
	domain string
	// body is field 2 of a RouteConfiguration, tag and length included; empty
	// for a host that could not be made.
	body     []byte
	uses     []xdsserve.Name
	origins  []string
	failures []Failure
}

// Equal is how derive tells whether a table has to be put together again.
func (f *fragment) Equal(o *fragment) bool {
	return f.table == o.table && f.domain == o.domain && bytes.Equal(f.body, o.body) && slices.Equal(f.uses, o.uses) &&
		slices.Equal(f.origins, o.origins) && slices.EqualFunc(f.failures, o.failures, Failure.Equal)
}

// translateHost makes a virtual host. A route that cannot be made does not take
// the others with it.
func translateHost(h model.VirtualHost) *fragment {
	out := &fragment{table: h.Table, domain: h.Domain}
	host, err := virtualHost(h, out)
	if err == nil {
		out.body, err = embed(host)
	}
	if err != nil {
		out.failures = append(out.failures, failure(xdsserve.Routes, string(h.Table), hostRefs(h), err))
		return &fragment{table: h.Table, domain: h.Domain, failures: out.failures}
	}
	out.uses = sortedUses(out.uses)
	out.origins = origins(hostRefs(h))
	return out
}

func virtualHost(h model.VirtualHost, out *fragment) (*envoy_route_v3.VirtualHost, error) {
	if err := checkDomain("hosts.domain", h.Domain); err != nil {
		return nil, err
	}
	if h.Closed {
		return closedHost(h.Domain), nil
	}
	host, err := routesOf(h, out)
	if err != nil {
		return nil, err
	}
	asked, err := admit(host, h.Admit)
	if err != nil {
		// Left out, the host would leave its requests to others, which may not ask.
		out.failures = append(out.failures, failure(xdsserve.Routes, string(h.Table), hostRefs(h), err))
		out.uses = nil
		return closedHost(h.Domain), nil
	}
	out.uses = append(out.uses, asked...)
	return host, nil
}

func routesOf(h model.VirtualHost, out *fragment) (*envoy_route_v3.VirtualHost, error) {
	host := &envoy_route_v3.VirtualHost{Name: h.Domain, Domains: []string{h.Domain}}
	if h.Misdirected {
		host.Routes = []*envoy_route_v3.Route{{
			Name: "misdirected", Match: anyPath(), Action: answer(421),
		}}
		return host, nil
	}
	for _, r := range h.Routes {
		host.Routes = append(host.Routes, hostRoute(h, r, out)...)
	}
	if len(out.uses) == 0 {
		return host, nil
	}
	var err error
	host.RetryPolicy, err = safeRetries()
	return host, err
}

// hostRoute translates one route and records what it uses and what was wrong.
// A route that matches but cannot act answers 500, as Gateway API asks for
// rules that cannot be served; one whose match is wrong is left out.
func hostRoute(h model.VirtualHost, r model.Route, out *fragment) []*envoy_route_v3.Route {
	made, uses, err := translateRoute(h.Domain, r)
	if err == nil {
		out.uses = append(out.uses, uses...)
		return made
	}
	out.failures = append(out.failures, failure(xdsserve.Routes, string(h.Table), r.Origins, err))
	match, err := translateMatch(r.Match)
	if err != nil {
		return nil
	}
	broken := &envoy_route_v3.Route{Match: match, Action: answer(unavailable(r.Match))}
	if checkName("name", r.Name) == nil {
		broken.Name = r.Name
	}
	if broken.ValidateAll() != nil {
		return nil
	}
	return []*envoy_route_v3.Route{broken}
}

func checkDomain(field, domain string) error {
	if domain == "*" {
		return nil
	}
	return checkHostname(field, domain, true)
}

func isWildcard(domain string) bool { return strings.HasPrefix(domain, "*") }

func hostRefs(h model.VirtualHost) []model.Ref {
	refs := slices.Clone(h.Origins)
	for _, r := range h.Routes {
		refs = append(refs, r.Origins...)
	}
	return refs
}

func sortedUses(uses []xdsserve.Name) []xdsserve.Name {
	slices.SortFunc(uses, compareNames)
	return slices.Clip(slices.Compact(uses))
}

func compareNames(a, b xdsserve.Name) int {
	if c := strings.Compare(string(a.Type), string(b.Type)); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
