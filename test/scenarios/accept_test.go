package scenarios

import (
	"maps"
	"slices"
	"strconv"
	"testing"

	envoy_bootstrap_v3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// suspects are configurations that a real Envoy is asked about, by whose they are.
type suspects map[string]*envoy_bootstrap_v3.Bootstrap

// add adds the configuration of each Gateway of a scenario.
func (s suspects) add(t *testing.T, scenario string, resources []xdsserve.Resource) {
	t.Helper()
	groups := map[string]bool{}
	for _, r := range resources {
		groups[r.Group] = true
	}
	delete(groups, "")
	for group := range groups {
		s[scenario+" "+group] = envoytest.Static(t, group, true, resources...)
	}
}

// check fails the test for each configuration that Envoy refuses.
func (s suspects) check(t *testing.T) {
	t.Helper()
	for name, err := range s.guilty(t) {
		t.Errorf("Envoy refuses the configuration of %s: %v", name, err)
	}
}

// guilty asks Envoy about all configurations at once, and only when it refuses
// them about each.
func (s suspects) guilty(t *testing.T) map[string]error {
	t.Helper()
	if len(s) == 0 {
		return nil
	}
	together := envoytest.Check(t, s.together(t))
	if together == nil {
		return nil
	}
	out := map[string]error{}
	for name, one := range s {
		if err := envoytest.Check(t, one); err != nil {
			out[name] = err
		}
	}
	if len(out) == 0 {
		out["all, and of none alone: rename does not keep them apart"] = together
	}
	return out
}

// together is one configuration with all of them in it.
func (s suspects) together(t *testing.T) *envoy_bootstrap_v3.Bootstrap {
	t.Helper()
	all := new(envoy_bootstrap_v3.Bootstrap)
	for i, name := range slices.Sorted(maps.Keys(s)) {
		one := proto.CloneOf(s[name])
		rename(t, one.ProtoReflect(), strconv.Itoa(i)+"!")
		proto.Merge(all, &envoy_bootstrap_v3.Bootstrap{StaticResources: one.GetStaticResources()})
		all.LayeredRuntime = one.GetLayeredRuntime()
	}
	return all
}

// One bad configuration among good ones is found, and it alone.
func TestGuiltyIsFound(t *testing.T) {
	cluster := func(policy envoy_cluster_v3.Cluster_LbPolicy) *envoy_bootstrap_v3.Bootstrap {
		return &envoy_bootstrap_v3.Bootstrap{StaticResources: &envoy_bootstrap_v3.Bootstrap_StaticResources{
			Clusters: []*envoy_cluster_v3.Cluster{{Name: "same", LbPolicy: policy}},
		}}
	}
	asked := suspects{
		"good": cluster(envoy_cluster_v3.Cluster_ROUND_ROBIN), "bad": cluster(envoy_cluster_v3.Cluster_CLUSTER_PROVIDED),
		"fine": cluster(envoy_cluster_v3.Cluster_LEAST_REQUEST),
	}
	if found := asked.guilty(t); len(found) != 1 || found["bad"] == nil {
		t.Errorf("Envoy refuses %v, want the bad one alone", found)
	}
}

// names are the fields by which resources have or refer to names.
var names = map[protoreflect.FullName]bool{
	"envoy.config.listener.v3.Listener.name":                                                    true,
	"envoy.config.cluster.v3.Cluster.name":                                                      true,
	"envoy.config.endpoint.v3.ClusterLoadAssignment.cluster_name":                               true,
	"envoy.config.route.v3.RouteAction.cluster":                                                 true,
	"envoy.config.route.v3.WeightedCluster.ClusterWeight.name":                                  true,
	"envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.cluster":                            true,
	"envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster.ClusterWeight.name": true,
	"envoy.extensions.transport_sockets.tls.v3.Secret.name":                                     true,
	"envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig.name":                            true,
}

// rename puts a prefix before every name, so that configurations can be put together.
func rename(t *testing.T, m protoreflect.Message, prefix string) {
	t.Helper()
	if packed, ok := m.Interface().(*anypb.Any); ok {
		inner, err := packed.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		rename(t, inner.ProtoReflect(), prefix)
		if err := packed.MarshalFrom(inner); err != nil {
			t.Fatal(err)
		}
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case names[field.FullName()]:
			m.Set(field, protoreflect.ValueOfString(prefix+value.String()))
		case field.IsMap() && field.MapValue().Message() != nil:
			value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				rename(t, v.Message(), prefix)
				return true
			})
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				rename(t, value.List().Get(i).Message(), prefix)
			}
		case !field.IsMap() && !field.IsList() && field.Message() != nil:
			rename(t, value.Message(), prefix)
		}
		return true
	})
}
