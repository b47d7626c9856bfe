package envoy

import (
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// Build adds the translation of a model to a graph. A changed virtual host is
// translated on its own, and its table put together from what the others were; in
// a large table it is a resource of its own. Endpoints are projected: a change of
// theirs runs no function here.
func Build(g *derive.Graph, m model.Collections, o Options) Outputs {
	out := buildTables(g, m)
	out.Listeners = derive.Map(g, "xds listeners", m.Listeners, func(c *derive.Ctx, key string, l model.Listener) (Output, bool) {
		gateway, _ := derive.Get(c, m.Gateways, string(l.Gateway))
		table := func(id model.TableID) model.RouteTable {
			t, _ := derive.Get(c, m.Tables, string(id))
			return t
		}
		return translateListener(key, l, gateway, table, o), true
	})
	out.Clusters = derive.Map(g, "xds clusters", m.Clusters, func(_ *derive.Ctx, _ string, c model.Cluster) (Output, bool) {
		return translateCluster(c, o), true
	})
	out.Endpoints = derive.Project(g, "xds endpoints", m.Endpoints, func(_ string, e model.Endpoints) Output {
		return translateEndpoints(e)
	})
	out.Certificates = derive.Map(g, "xds certificates", m.Certificates, func(_ *derive.Ctx, _ string, c model.Certificate) (Output, bool) {
		return translateCertificate(c), true
	})
	return out
}

// buildTables translates hosts one by one: exact hosts of large tables are resources
// of their own, and all others are joined into what their table needs.
func buildTables(g *derive.Graph, m model.Collections) Outputs {
	tableOf := func(c *derive.Ctx, h model.VirtualHost) model.RouteTable {
		t, _ := derive.Get(c, m.Tables, string(h.Table))
		return t
	}
	hosts := derive.Map(g, "xds hosts", m.Hosts, func(c *derive.Ctx, _ string, h model.VirtualHost) (Output, bool) {
		t := tableOf(c, h)
		if !t.ByHost() || isWildcard(h.Domain) {
			return Output{}, false
		}
		return unlessWhole(t, translateScope(h)), true
	})
	parts := derive.Map(g, "xds host parts", m.Hosts, func(c *derive.Ctx, _ string, h model.VirtualHost) (*fragment, bool) {
		if t := tableOf(c, h); !t.Whole() && !isWildcard(h.Domain) {
			return nil, false
		}
		return translateHost(h), true
	})
	byTable := derive.Group(g, "xds host parts by table", parts, func(_ string, f *fragment) []string {
		return []string{string(f.table)}
	})
	tables := derive.Map(g, "xds tables", m.Tables, func(c *derive.Ctx, id string, t model.RouteTable) (Output, bool) {
		if !t.Whole() {
			return Output{}, false
		}
		return assembleTable(t, valuesOf(derive.All(c, byTable, id))), true
	})
	rests := derive.Map(g, "xds rests", m.Tables, func(c *derive.Ctx, id string, t model.RouteTable) (Output, bool) {
		if !t.ByHost() {
			return Output{}, false
		}
		wildcards := slices.DeleteFunc(valuesOf(derive.All(c, byTable, id)), func(f *fragment) bool { return !isWildcard(f.domain) })
		return unlessWhole(t, assembleRest(t, wildcards)), true
	})
	return Outputs{Tables: tables, Rests: rests, Hosts: hosts}
}

// unlessWhole leaves the failures of parts to the whole table where that is made, too.
func unlessWhole(t model.RouteTable, o Output) Output {
	if t.Whole() && o.Resource != nil {
		o.Failures = nil
	}
	return o
}

func valuesOf[V any](items []derive.Item[V]) []V {
	out := make([]V, len(items))
	for i, item := range items {
		out[i] = item.Value
	}
	return out
}
