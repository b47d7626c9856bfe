package envoytest

import (
	"fmt"
	"testing"

	envoy_bootstrap_v3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_endpoint_v3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// Static makes a bootstrap of the resources that one group of proxies may see.
// Route tables move into the listeners that name them, scopes into all that look
// routes up by scope, endpoints into their clusters, and secrets are found by name; a resource that is named and missing
// ends the test.
//
// With anyPort, listeners bind port 0; Envoy.Address tells which it became.
func Static(t testing.TB, group string, anyPort bool, resources ...xdsserve.Resource) *envoy_bootstrap_v3.Bootstrap {
	t.Helper()
	s := decode(t, group, resources)
	out := &envoy_bootstrap_v3.Bootstrap_StaticResources{Secrets: s.secrets}
	for _, c := range s.clusters {
		if c.GetType() == envoy_cluster_v3.Cluster_EDS {
			s.inlineEndpoints(c)
		}
		inlineSecrets(t, c.ProtoReflect())
		out.Clusters = append(out.Clusters, c)
	}
	for _, l := range s.listeners {
		s.inlineTables(l)
		if anyPort {
			l.GetAddress().GetSocketAddress().PortSpecifier = anySocketPort
		}
		out.Listeners = append(out.Listeners, l)
	}
	return &envoy_bootstrap_v3.Bootstrap{StaticResources: out, LayeredRuntime: runtime()}
}

// regexProgramLimit is what Gatehouse's own bootstrap sets.
const regexProgramLimit = 32_768

func runtime() *envoy_bootstrap_v3.LayeredRuntime {
	limits := &structpb.Struct{Fields: map[string]*structpb.Value{
		"re2.max_program_size.error_level": structpb.NewNumberValue(regexProgramLimit),
	}}
	return &envoy_bootstrap_v3.LayeredRuntime{Layers: []*envoy_bootstrap_v3.RuntimeLayer{{
		Name: "gatehouse", LayerSpecifier: &envoy_bootstrap_v3.RuntimeLayer_StaticLayer{StaticLayer: limits},
	}}}
}

// decoded are resources by what they are.
type decoded struct {
	t         testing.TB
	listeners []*envoy_listener_v3.Listener
	clusters  []*envoy_cluster_v3.Cluster
	secrets   []*envoy_tls_v3.Secret
	tables    map[string]*envoy_route_v3.RouteConfiguration
	scopes    []*envoy_route_v3.ScopedRouteConfiguration
	endpoints map[string]*envoy_endpoint_v3.ClusterLoadAssignment
}

func decode(t testing.TB, group string, resources []xdsserve.Resource) decoded {
	t.Helper()
	out := decoded{
		t: t, tables: map[string]*envoy_route_v3.RouteConfiguration{},
		endpoints: map[string]*envoy_endpoint_v3.ClusterLoadAssignment{},
	}
	for _, r := range resources {
		if r.Group != "" && r.Group != group {
			continue
		}
		if err := out.add(r); err != nil {
			t.Fatalf("decode %s %s: %v", r.Type, r.Name.Name, err)
		}
	}
	return out
}

func (d *decoded) add(r xdsserve.Resource) error {
	switch r.Type {
	case xdsserve.Listener:
		d.listeners = append(d.listeners, new(envoy_listener_v3.Listener))
		return proto.Unmarshal(r.Body, d.listeners[len(d.listeners)-1])
	case xdsserve.Cluster:
		d.clusters = append(d.clusters, new(envoy_cluster_v3.Cluster))
		return proto.Unmarshal(r.Body, d.clusters[len(d.clusters)-1])
	case xdsserve.Secret:
		d.secrets = append(d.secrets, new(envoy_tls_v3.Secret))
		return proto.Unmarshal(r.Body, d.secrets[len(d.secrets)-1])
	case xdsserve.Routes:
		d.tables[r.Name.Name] = new(envoy_route_v3.RouteConfiguration)
		return proto.Unmarshal(r.Body, d.tables[r.Name.Name])
	case xdsserve.Scopes:
		d.scopes = append(d.scopes, new(envoy_route_v3.ScopedRouteConfiguration))
		return proto.Unmarshal(r.Body, d.scopes[len(d.scopes)-1])
	case xdsserve.Endpoints:
		d.endpoints[r.Name.Name] = new(envoy_endpoint_v3.ClusterLoadAssignment)
		return proto.Unmarshal(r.Body, d.endpoints[r.Name.Name])
	}
	return fmt.Errorf("unknown type")
}
