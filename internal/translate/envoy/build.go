package envoy

import (
	"reflect"
	"strconv"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

// Build adds the translation of a model to a graph. A changed virtual host is
// translated on its own, and its table put together from what the others were.
// Endpoints are projected: a change of theirs runs no function here.
func Build(g *derive.Graph, m model.Collections, o Options) Outputs {
	return Outputs{
		Listeners: derive.Map(g, "xds listeners", m.Listeners, func(c *derive.Ctx, key string, l model.Listener) (Output, bool) {
			gateway, _ := derive.Get(c, m.Gateways, string(l.Gateway))
			return translateListener(key, l, gateway.Settings, o), true
		}),
		Tables: buildTables(g, m),
		Clusters: derive.Map(g, "xds clusters", m.Clusters, func(_ *derive.Ctx, _ string, c model.Cluster) (Output, bool) {
			return translateCluster(c, o), true
		}),
		Endpoints: derive.Project(g, "xds endpoints", m.Endpoints, func(_ string, e model.Endpoints) Output {
			return translateEndpoints(e)
		}),
		Certificates: derive.Map(g, "xds certificates", m.Certificates, func(_ *derive.Ctx, _ string, c model.Certificate) (Output, bool) {
			return translateCertificate(c), true
		}),
	}
}

// buildTables translates hosts one by one and joins them into their tables.
func buildTables(g *derive.Graph, m model.Collections) derive.Collection[Output] {
	fragments := derive.Map(g, "xds hosts", hostsOf(g, m), func(_ *derive.Ctx, _ string, h model.VirtualHost) (*fragment, bool) {
		return translateHost(h), true
	})
	byTable := derive.Group(g, "xds hosts by table", fragments, func(_ string, f *fragment) []string {
		return []string{string(f.table)}
	})
	return derive.Map(g, "xds tables", m.Tables, func(c *derive.Ctx, _ string, t model.RouteTable) (Output, bool) {
		items := derive.All(c, byTable, string(t.ID))
		hosts := make([]*fragment, len(items))
		for i, item := range items {
			hosts[i] = item.Value
		}
		return assembleTable(t.ID, t.Gateway, hosts), true
	})
}

// hostsOf are the virtual hosts as values of their own, each with its domain as
// key; a domain that comes twice, which the table will report, is told apart.
func hostsOf(g *derive.Graph, m model.Collections) derive.Collection[model.VirtualHost] {
	return derive.Expand(g, "xds hosts of table", m.Tables, func(_ *derive.Ctx, _ string, t model.RouteTable) []derive.Item[model.VirtualHost] {
		items := make([]derive.Item[model.VirtualHost], len(t.Hosts))
		seen := make(map[string]int, len(t.Hosts))
		for i, h := range t.Hosts {
			key := h.Domain
			if n := seen[h.Domain]; n > 0 {
				key = h.Domain + "\x00" + strconv.Itoa(n)
			}
			seen[h.Domain]++
			h.Table, h.Gateway = t.ID, t.Gateway
			items[i] = derive.Item[model.VirtualHost]{Key: key, Value: h}
		}
		return items
	}, derive.EqualFunc(sameHost))
}

// sameHost compares what the table's compiler kept as it was by identity, which
// is nearly everything, and the rest by value.
func sameHost(a, b model.VirtualHost) bool {
	return a.Table == b.Table && a.Gateway == b.Gateway && a.Domain == b.Domain && a.Misdirected == b.Misdirected &&
		sameSlice(a.Routes, b.Routes) && sameSlice(a.Origins, b.Origins)
}

func sameSlice[T any](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b)
}
