package envoytest

import (
	"testing"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	envoy_tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

var anySocketPort = &envoy_core_v3.SocketAddress_PortValue{PortValue: 0}

// inlineEndpoints makes an EDS cluster a static one.
func (d decoded) inlineEndpoints(c *envoy_cluster_v3.Cluster) {
	d.t.Helper()
	name := c.GetEdsClusterConfig().GetServiceName()
	if name == "" {
		name = c.GetName()
	}
	endpoints, ok := d.endpoints[name]
	if !ok {
		d.t.Fatalf("cluster %s has no endpoints resource %q", c.GetName(), name)
	}
	c.ClusterDiscoveryType = &envoy_cluster_v3.Cluster_Type{Type: envoy_cluster_v3.Cluster_STATIC}
	c.EdsClusterConfig = nil
	c.LoadAssignment = endpoints
}

// inlineTables puts route tables in place of their names, and names secrets
// without a source, in all chains of a listener.
func (d decoded) inlineTables(l *envoy_listener_v3.Listener) {
	d.t.Helper()
	for _, chain := range l.GetFilterChains() {
		inlineSecrets(d.t, chain.ProtoReflect())
		for _, filter := range chain.GetFilters() {
			manager := new(envoy_hcm_v3.HttpConnectionManager)
			if filter.GetTypedConfig().UnmarshalTo(manager) != nil {
				continue
			}
			d.inlineRoutes(l, manager)
			filter.ConfigType = &envoy_listener_v3.Filter_TypedConfig{TypedConfig: repack(d.t, manager)}
		}
	}
}

func (d decoded) inlineRoutes(l *envoy_listener_v3.Listener, manager *envoy_hcm_v3.HttpConnectionManager) {
	d.t.Helper()
	if scoped := manager.GetScopedRoutes(); scoped != nil {
		scoped.RdsConfigSource = nil
		scoped.ConfigSpecifier = &envoy_hcm_v3.ScopedRoutes_ScopedRouteConfigurationsList{
			ScopedRouteConfigurationsList: &envoy_hcm_v3.ScopedRouteConfigurationsList{ScopedRouteConfigurations: d.scopes},
		}
		return
	}
	table, ok := d.tables[manager.GetRds().GetRouteConfigName()]
	if !ok {
		d.t.Fatalf("listener %s has no route table %q", l.GetName(), manager.GetRds().GetRouteConfigName())
	}
	manager.RouteSpecifier = &envoy_hcm_v3.HttpConnectionManager_RouteConfig{RouteConfig: table}
}

// inlineSecrets takes the source from every reference to a secret, so that
// Envoy looks among the static ones.
func inlineSecrets(t testing.TB, m protoreflect.Message) {
	t.Helper()
	switch typed := m.Interface().(type) {
	case *envoy_tls_v3.SdsSecretConfig:
		typed.SdsConfig = nil
		return
	case *anypb.Any:
		inner, err := typed.UnmarshalNew()
		if err != nil {
			t.Fatalf("decode %s: %v", typed.GetTypeUrl(), err)
		}
		inlineSecrets(t, inner.ProtoReflect())
		typed.Value = repack(t, inner).GetValue()
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		eachMessage(field, value, func(inner protoreflect.Message) { inlineSecrets(t, inner) })
		return true
	})
}

func eachMessage(field protoreflect.FieldDescriptor, value protoreflect.Value, do func(protoreflect.Message)) {
	switch {
	case field.IsMap() && field.MapValue().Message() != nil:
		value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
			do(v.Message())
			return true
		})
	case field.IsMap() || field.Message() == nil:
	case field.IsList():
		for i := range value.List().Len() {
			do(value.List().Get(i).Message())
		}
	default:
		do(value.Message())
	}
}

func repack(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	packed := new(anypb.Any)
	if err := anypb.MarshalFrom(packed, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		t.Fatalf("encode %s: %v", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return packed
}
