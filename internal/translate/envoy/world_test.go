package envoy

import (
	"io"
	"net/netip"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// world is a model to translate; the keys are those that compile gives.
type world struct {
	Gateways     []model.Gateway
	Listeners    map[string]model.Listener
	Tables       []table
	Clusters     []model.Cluster
	Endpoints    []model.Endpoints
	Certificates []model.Certificate
}

// table is a route table with its hosts.
type table struct {
	model.RouteTable
	Hosts []model.VirtualHost
}

// The collections of a view that holds a world.
const (
	inGateways     = "gateways"
	inListeners    = "listeners"
	inTables       = "tables"
	inHosts        = "hosts"
	inClusters     = "clusters"
	inEndpoints    = "endpoints"
	inCertificates = "certificates"
)

// graph is a translation over a view that holds a model.
func graph(o Options) (*derive.Graph, Outputs) {
	g := derive.New()
	out := Build(g, model.Collections{
		Gateways:     derive.Input[model.Gateway](g, inGateways),
		Listeners:    derive.Input[model.Listener](g, inListeners),
		Tables:       derive.Input[model.RouteTable](g, inTables),
		Hosts:        derive.Input[model.VirtualHost](g, inHosts),
		Clusters:     derive.Input[model.Cluster](g, inClusters),
		Endpoints:    derive.Input[model.Endpoints](g, inEndpoints),
		Certificates: derive.Input[model.Certificate](g, inCertificates),
	}, o)
	return g, out
}

// edits put the world into a view.
func (w world) edits() []store.Edit {
	var out []store.Edit
	put := func(collection, name string, value any) {
		out = append(out, store.Edit{Collection: collection, Name: name, Value: value})
	}
	for _, v := range w.Gateways {
		put(inGateways, string(v.ID), v)
	}
	for key, v := range w.Listeners {
		put(inListeners, key, v)
	}
	for _, v := range w.Tables {
		put(inTables, string(v.ID), v.RouteTable)
		for _, h := range v.Hosts {
			h.Table, h.Gateway = v.ID, v.Gateway
			put(inHosts, hostKey(h), h)
		}
	}
	for _, v := range w.Clusters {
		put(inClusters, string(v.Gateway)+"|"+string(v.ID), v)
	}
	for _, v := range w.Endpoints {
		put(inEndpoints, string(v.Cluster), v)
	}
	for _, v := range w.Certificates {
		put(inCertificates, string(v.Gateway)+"|"+string(v.ID), v)
	}
	return out
}

func hostKey(h model.VirtualHost) string { return string(h.Table) + "|" + h.Domain }

// translated is all that a world became, in order of type and key.
type translated struct {
	resources []xdsserve.Resource
	failures  []Failure
}

func translate(t testing.TB, w world) translated {
	t.Helper()
	return translateWith(t, w, Options{})
}

func translateWith(t testing.TB, w world, o Options) translated {
	t.Helper()
	g, outputs := graph(o)
	result := g.Eval(derive.State{}, store.View{}.Apply(w.edits()...))
	for _, f := range result.Faults {
		t.Fatalf("%s of %s panicked: %v\n%s", f.Node, f.Key, f.Panic, f.Stack)
	}
	var out translated
	for _, c := range []derive.Collection[Output]{outputs.Certificates, outputs.Clusters, outputs.Endpoints, outputs.Listeners, outputs.Tables, outputs.Rests, outputs.Hosts} {
		for _, o := range derive.Items(result.State, c) {
			if o.Resource != nil {
				out.resources = append(out.resources, *o.Resource)
			}
			out.failures = append(out.failures, o.Failures...)
		}
	}
	return out
}

// The names that tests share.
const (
	edge      = model.GatewayID("shop/edge")
	httpPort  = "shop/edge/127.0.0.1/8080"
	plainHTTP = model.TableID("shop/edge/8080")
)

// plain is a world with one HTTP port that answers the given hosts, and a
// backend "ns/name:port" for each name.
func plain(hosts []model.VirtualHost, backends map[string]netip.AddrPort) world {
	for i := range hosts {
		hosts[i].Table, hosts[i].Gateway = plainHTTP, edge
	}
	w := world{
		Gateways:  []model.Gateway{{ID: edge}},
		Listeners: map[string]model.Listener{httpPort: {Gateway: edge, Port: 8080, Protocol: model.HTTP, Table: plainHTTP}},
		Tables:    []table{{model.RouteTable{ID: plainHTTP, Gateway: edge}, hosts}},
	}
	for name, at := range backends {
		w.addBackend(name, model.UpstreamHTTP1, at)
	}
	return w
}

func (w *world) addBackend(name string, p model.UpstreamProtocol, at ...netip.AddrPort) {
	id := backendID(name)
	endpoints := model.Endpoints{Cluster: id}
	for _, a := range at {
		endpoints.Addresses = append(endpoints.Addresses, model.Endpoint{Address: a})
	}
	w.Clusters = append(w.Clusters, model.Cluster{ID: id, Gateway: edge, Protocol: p})
	w.Endpoints = append(w.Endpoints, endpoints)
}

// forwarding is a world with one port whose connections or datagrams go to backends
// that run.
func forwarding(t testing.TB, key string, l model.Listener, p model.UpstreamProtocol, names []string, start func(name string) (netip.AddrPort, io.Closer, error)) world {
	t.Helper()
	w := world{Gateways: []model.Gateway{{ID: edge}}, Listeners: map[string]model.Listener{key: l}}
	for _, name := range names {
		at, running, err := start(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = running.Close() })
		w.addBackend(name, p, at)
	}
	return w
}

func backendID(name string) model.ClusterID {
	if name == "" {
		return ""
	}
	return model.ClusterID("shop/" + name + ":80")
}

// to forwards everything to one backend.
func to(name string) *model.Forward {
	return split(model.WeightedBackend{Cluster: backendID(name), Weight: 1})
}

func split(b ...model.WeightedBackend) *model.Forward { return &model.Forward{Backends: b} }

func prefix(p string) model.Match {
	return model.Match{Path: model.PathMatch{Kind: model.PathPrefix, Value: p}}
}

func exact(p string) model.Match {
	return model.Match{Path: model.PathMatch{Kind: model.PathExact, Value: p}}
}

func pattern(p string) model.Match {
	return model.Match{Path: model.PathMatch{Kind: model.PathRegex, Value: p}}
}
