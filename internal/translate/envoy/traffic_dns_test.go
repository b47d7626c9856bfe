package envoy

import (
	"net"
	"net/netip"
	"testing"
	"time"

	envoy_cluster_v3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_dns_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/dns/v3"
	envoy_cares_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// TestNamedBackends: a host name is resolved; one that does not exist, and a
// name server that does not answer for it, delay neither start nor others.
func TestNamedBackends(t *testing.T) {
	at := backends(t, "b")
	w := plain(nil, nil)
	routes := []model.Route{}
	for name, host := range map[string]string{"local": "localhost", "address": "127.0.0.1", "unknown": "no-such-name.invalid"} {
		w.Clusters = append(w.Clusters, model.Cluster{ID: backendID(name), Gateway: edge, Host: host, Port: at["b"].Port()})
		routes = append(routes, model.Route{Name: name, Match: prefix("/" + name), Forward: to(name)})
	}
	w.Tables[0].Hosts = []model.VirtualHost{{Domain: "*", Routes: routes}}
	f := serve(t, w)
	for path, want := range map[string]int{"/local": 200, "/address": 200, "/unknown": 503} {
		if got := f.ask(question{Path: path}); got.Status != want {
			t.Errorf("%s: status %d, want %d", path, got.Status, want)
		}
	}
}

// TestSilentNameServer: a name server that never answers delays the start of a
// proxy by the 2 s that we give it, and then fails
// only the routes that need it.
func TestSilentNameServer(t *testing.T) {
	silent, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "named", Match: prefix("/named"), Forward: to("named")},
		{Name: "rest", Match: prefix("/"), Forward: to("b")},
	}}}, backends(t, "b"))
	w.Clusters = append(w.Clusters, model.Cluster{ID: backendID("named"), Gateway: edge, Host: "a.example", Port: 80})
	got := translate(t, w)
	for i, r := range got.resources {
		if r.Type == xdsserve.Cluster && r.SlowToWarm {
			got.resources[i].Body = encode(t, askOnly(t, r, netip.MustParseAddrPort(silent.LocalAddr().String())))
		}
	}
	start := time.Now()
	f := serveAs(t, got)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Envoy took %s to start, want about 2 s", took)
	}
	for path, want := range map[string]int{"/": 200, "/named": 503} {
		if got := f.ask(question{Path: path}); got.Status != want {
			t.Errorf("%s: status %d, want %d", path, got.Status, want)
		}
	}
}

// askOnly has a cluster ask one name server instead of the system's.
func askOnly(t *testing.T, r xdsserve.Resource, server netip.AddrPort) *envoy_cluster_v3.Cluster {
	t.Helper()
	cluster, named, resolver := new(envoy_cluster_v3.Cluster), new(envoy_dns_v3.DnsCluster), new(envoy_cares_v3.CaresDnsResolverConfig)
	if err := proto.Unmarshal(r.Body, cluster); err != nil {
		t.Fatal(err)
	}
	if err := cluster.GetClusterType().GetTypedConfig().UnmarshalTo(named); err != nil {
		t.Fatal(err)
	}
	if err := named.GetTypedDnsResolverConfig().GetTypedConfig().UnmarshalTo(resolver); err != nil {
		t.Fatal(err)
	}
	address := socketAddress(server)
	address.GetSocketAddress().Protocol = envoy_core_v3.SocketAddress_UDP
	resolver.Resolvers = []*envoy_core_v3.Address{address}
	for _, m := range []struct {
		into *anypb.Any
		from proto.Message
	}{{named.GetTypedDnsResolverConfig().GetTypedConfig(), resolver}, {cluster.GetClusterType().GetTypedConfig(), named}} {
		if err := m.into.MarshalFrom(m.from); err != nil {
			t.Fatal(err)
		}
	}
	return cluster
}
