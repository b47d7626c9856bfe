package envoy

import (
	"strings"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// A large table is not one resource but many scopes: one for each exact host, and
// one, the rest, for all other names. A request is looked up by the key
// "set/host", or "set/" for the rest; the set names the table among those of its
// proxies.

// scopeHeader carries the key of a request. Clients cannot set it, and backends do
// not see it.
const scopeHeader = "x-gatehouse-scope"

// scopeField is the number of ScopedRouteConfiguration.route_configuration.
const scopeField = 5

// setOf is the set of a table. It is short, because every key and name has it:
// "8080", or "443.name" for an HTTPS listener.
func setOf(id model.TableID, gateway model.GatewayID) (string, error) {
	set := strings.ReplaceAll(strings.TrimPrefix(string(id), string(gateway)+"/"), "/", ".")
	for _, c := range []byte(set) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return "", faultf("id", string(id), "a table that is looked up by host has a-z, 0-9, - and . in its name")
		}
	}
	return set, checkName("id", set)
}

// restOf names the scope of the names that have none of their own.
func restOf(id model.TableID, gateway model.GatewayID) (string, error) {
	set, err := setOf(id, gateway)
	return set + "/", err
}

// translateScope makes an exact host a resource of its own.
func translateScope(h model.VirtualHost) Output {
	set, err := setOf(h.Table, h.Gateway)
	if err != nil {
		return failed(xdsserve.Scopes, string(h.Table), hostRefs(h), err)
	}
	name := set + "/" + h.Domain
	built := &fragment{table: h.Table, domain: h.Domain}
	host, err := virtualHost(h, built)
	if err != nil {
		return failed(xdsserve.Scopes, name, hostRefs(h), err)
	}
	body, err := scopeOf(name, host)
	if err != nil {
		return failed(xdsserve.Scopes, name, hostRefs(h), err)
	}
	for i := range built.failures {
		built.failures[i].Type, built.failures[i].Name = xdsserve.Scopes, name
	}
	return Output{
		Resource: seal(xdsserve.Scopes, string(h.Gateway), name, body, sortedUses(built.uses), scopeOrigins(h)),
		Failures: built.failures,
	}
}

// scopeOrigins are the routes of a host, or where it has none what made it: the
// Gateway would otherwise come from every host.
func scopeOrigins(h model.VirtualHost) []string {
	var refs []model.Ref
	for _, r := range h.Routes {
		refs = append(refs, r.Origins...)
	}
	if len(refs) == 0 {
		refs = h.Origins
	}
	return origins(refs)
}

// scopeOf closes a host to what it answers itself. Without its last route, and the
// names of all, a request that it does not match would be looked up again.
func scopeOf(name string, host *envoy_route_v3.VirtualHost) ([]byte, error) {
	var err error
	host.Domains = []string{"*"}
	host.TypedPerFilterConfig, err = configured(host.TypedPerFilterConfig, missedFilter, &envoy_route_v3.FilterConfig{Disabled: true})
	if err != nil {
		return nil, err
	}
	for _, r := range host.Routes {
		if r.GetName() == "" {
			r.Name = "unnamed"
		}
	}
	takeAll(host)
	table := tableSettings()
	table.Name, table.VirtualHosts = name, []*envoy_route_v3.VirtualHost{host}
	table.RequestHeadersToRemove = []string{scopeHeader}
	return marshal(&envoy_route_v3.ScopedRouteConfiguration{Name: name, Key: scopeKey(name), RouteConfiguration: table})
}

func scopeKey(key string) *envoy_route_v3.ScopedRouteConfiguration_Key {
	return &envoy_route_v3.ScopedRouteConfiguration_Key{Fragments: []*envoy_route_v3.ScopedRouteConfiguration_Key_Fragment{{
		Type: &envoy_route_v3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: key},
	}}}
}

// assembleRest makes the scope of all names of a table that have none of their own,
// in which Envoy matches hosts as it does in any table.
func assembleRest(t model.RouteTable, hosts []*fragment) Output {
	name, err := restOf(t.ID, t.Gateway)
	if err != nil {
		return failed(xdsserve.Scopes, string(t.ID), nil, err)
	}
	out := Output{}
	hosts = servable(hosts, &out)
	for i := range out.Failures {
		out.Failures[i].Type, out.Failures[i].Name = xdsserve.Scopes, name
	}
	settings := tableSettings()
	settings.RequestHeadersToRemove = []string{scopeHeader}
	body, err := marshal(&envoy_route_v3.ScopedRouteConfiguration{Name: name, Key: scopeKey(name)})
	if err != nil {
		return failed(xdsserve.Scopes, name, nil, err)
	}
	table := joined{body: body, within: scopeField}
	if err := table.joinHosts(name, hosts, settings); err != nil {
		return failed(xdsserve.Scopes, name, nil, err)
	}
	uses, from := gather(hosts)
	out.Resource = seal(xdsserve.Scopes, string(t.Gateway), name, table.body, uses, from)
	out.Resource.Parts = table.parts
	return out
}
