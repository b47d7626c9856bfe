package envoy

import (
	_ "embed" // the filter's source

	envoy_mutation_v3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_lua_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	envoy_early_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// missedFilter is the name of the filter that looks again for hosts that are not
// written as their scope is. It costs nothing where the first lookup finds one.
//
// Filters are chosen by the route of the first lookup. A filter that is off by
// default and on for one host is therefore missing from requests that spell the
// host in capitals: filters must be on by default, with a configuration that does
// nothing, and be configured by route.
const missedFilter = "gatehouse.missed"

//go:embed missed.lua
var missedSource string

// byTable makes a connection manager answer from one whole table.
func byTable(m *envoy_hcm_v3.HttpConnectionManager, table model.TableID) xdsserve.Name {
	m.RouteSpecifier = &envoy_hcm_v3.HttpConnectionManager_Rds{Rds: &envoy_hcm_v3.Rds{
		RouteConfigName: string(table), ConfigSource: fromADS(),
	}}
	return xdsserve.Name{Type: xdsserve.Routes, Name: string(table)}
}

// byHost makes a connection manager look up the scope of each request: the key is
// what of the header is before a colon, and so before a port.
func byHost(m *envoy_hcm_v3.HttpConnectionManager, t model.RouteTable) (xdsserve.Name, error) {
	rest, err := restOf(t.ID, t.Gateway)
	if err != nil {
		return xdsserve.Name{}, err
	}
	early, err := setScope(rest)
	if err != nil {
		return xdsserve.Name{}, err
	}
	missed, err := missedLookup()
	if err != nil {
		return xdsserve.Name{}, err
	}
	m.RouteSpecifier = &envoy_hcm_v3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: scopedRoutes()}
	m.EarlyHeaderMutationExtensions = []*envoy_core_v3.TypedExtensionConfig{early}
	m.HttpFilters = append([]*envoy_hcm_v3.HttpFilter{missed}, m.HttpFilters...)
	return xdsserve.Name{Type: xdsserve.Scopes, Name: rest}, nil
}

func scopedRoutes() *envoy_hcm_v3.ScopedRoutes {
	element := &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0}
	header := &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
		Name: scopeHeader, ElementSeparator: ":", ExtractType: element,
	}
	return &envoy_hcm_v3.ScopedRoutes{
		Name: "scopes",
		ScopeKeyBuilder: &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
			Type: &envoy_hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{HeaderValueExtractor: header},
		}}},
		RdsConfigSource: fromADS(),
		ConfigSpecifier: &envoy_hcm_v3.ScopedRoutes_ScopedRds{ScopedRds: &envoy_hcm_v3.ScopedRds{ScopedRdsConfigSource: fromADS()}},
	}
}

// setScope writes the key of each request into its header, over whatever a client
// has put there.
func setScope(rest string) (*envoy_core_v3.TypedExtensionConfig, error) {
	return extension("gatehouse.scope", &envoy_early_v3.HeaderMutation{Mutations: []*envoy_mutation_v3.HeaderMutation{{
		Action: &envoy_mutation_v3.HeaderMutation_Append{Append: &envoy_core_v3.HeaderValueOption{
			Header:       &envoy_core_v3.HeaderValue{Key: scopeHeader, Value: literal(rest) + "%REQ(:AUTHORITY)%"},
			AppendAction: envoy_core_v3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
	}}})
}

func missedLookup() (*envoy_hcm_v3.HttpFilter, error) {
	return httpFilter(missedFilter, &envoy_lua_v3.Lua{DefaultSourceCode: &envoy_core_v3.DataSource{
		Specifier: &envoy_core_v3.DataSource_InlineString{InlineString: missedSource},
	}})
}
