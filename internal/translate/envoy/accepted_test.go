package envoy

import (
	"fmt"
	"testing"

	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// TestEnvoyTakesWhatPasses: whatever of a generated model passes our checks, a
// real Envoy takes. Many models share one run of Envoy.
func TestEnvoyTakesWhatPasses(t *testing.T) {
	const runs, each = 5, 40
	counts := map[xdsserve.Type]int{}
	for run := range runs {
		var resources []xdsserve.Resource
		for seed := run * each; seed < (run+1)*each; seed++ {
			resources = append(resources, translate(t, reachable(worlds.Example(seed), fmt.Sprintf("w%d-", seed))).resources...)
		}
		resources = complete(t, resources)
		for _, r := range resources {
			counts[r.Type]++
		}
		if err := envoytest.Check(t, envoytest.Static(t, string(edge), true, resources...)); err != nil {
			t.Errorf("models %d to %d: %v", run*each, (run+1)*each-1, err)
		}
	}
	for _, kind := range []xdsserve.Type{xdsserve.Secret, xdsserve.Cluster, xdsserve.Endpoints, xdsserve.Listener, xdsserve.Routes, xdsserve.Scopes} {
		if counts[kind] < runs*each/4 {
			t.Errorf("only %d resources of type %s, too few to mean anything", counts[kind], kind)
		}
	}
}

// reachable sets a model apart from others by a prefix, and gives each of its
// tables a listener that names it.
func reachable(w world, mark string) world {
	out := world{Gateways: w.Gateways, Listeners: map[string]model.Listener{}}
	for key, l := range w.Listeners {
		out.Listeners[mark+key] = l
	}
	for _, v := range w.Tables {
		v.ID = model.TableID(mark) + v.ID
		out.Tables = append(out.Tables, v)
		out.Listeners[string(v.ID)] = model.Listener{Gateway: edge, Port: 8080, Protocol: model.HTTP, Table: v.ID}
	}
	for _, v := range w.Clusters {
		v.ID = model.ClusterID(mark) + v.ID
		out.Clusters = append(out.Clusters, v)
	}
	for _, v := range w.Endpoints {
		v.Cluster = model.ClusterID(mark) + v.Cluster
		out.Endpoints = append(out.Endpoints, v)
	}
	for _, v := range w.Certificates {
		v.ID = model.CertificateID(mark) + v.ID
		out.Certificates = append(out.Certificates, v)
	}
	return out
}

// complete adds what resources use and a generated model lacks.
func complete(t *testing.T, resources []xdsserve.Resource) []xdsserve.Resource {
	t.Helper()
	have := map[xdsserve.Name]bool{}
	for _, r := range resources {
		have[r.Name] = true
	}
	for _, r := range resources {
		for _, use := range r.Uses {
			if !have[use] && use.Type != xdsserve.Cluster {
				have[use] = true
				resources = append(resources, xdsserve.Resource{Name: use, Body: placeholder(t, use)})
			}
		}
	}
	return resources
}

func placeholder(t *testing.T, n xdsserve.Name) []byte {
	t.Helper()
	switch n.Type {
	case xdsserve.Secret:
		return encode(t, secret(n.Name, goodPair().Cert, goodPair().Key))
	case xdsserve.Routes:
		return encode(t, &envoy_route_v3.RouteConfiguration{Name: n.Name})
	case xdsserve.Scopes:
		body, err := scopeOf(n.Name, &envoy_route_v3.VirtualHost{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return body
	case xdsserve.Endpoints:
		return encode(t, &envoy_endpoint_v3.ClusterLoadAssignment{ClusterName: n.Name})
	default:
	}
	panic(fmt.Sprintf("nothing stands in for %v", n))
}
