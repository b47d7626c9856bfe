package envoytest

import (
	"net"
	"net/http"
	"strings"
	"testing"

	envoy_bootstrap_v3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	envoy_router_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	envoy_hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// answering are a listener and its table, as a control plane would send them.
func answering(t *testing.T, path string) []xdsserve.Resource {
	t.Helper()
	manager := &envoy_hcm_v3.HttpConnectionManager{
		StatPrefix: "test",
		RouteSpecifier: &envoy_hcm_v3.HttpConnectionManager_Rds{Rds: &envoy_hcm_v3.Rds{
			RouteConfigName: "table", ConfigSource: &envoy_core_v3.ConfigSource{ConfigSourceSpecifier: &envoy_core_v3.ConfigSource_Ads{}},
		}},
		HttpFilters: []*envoy_hcm_v3.HttpFilter{{Name: "router", ConfigType: &envoy_hcm_v3.HttpFilter_TypedConfig{TypedConfig: repack(t, &envoy_router_v3.Router{})}}},
	}
	listener := &envoy_listener_v3.Listener{
		Name: "web",
		Address: &envoy_core_v3.Address{Address: &envoy_core_v3.Address_SocketAddress{SocketAddress: &envoy_core_v3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &envoy_core_v3.SocketAddress_PortValue{PortValue: 80},
		}}},
		FilterChains: []*envoy_listener_v3.FilterChain{{Filters: []*envoy_listener_v3.Filter{{
			Name: "http", ConfigType: &envoy_listener_v3.Filter_TypedConfig{TypedConfig: repack(t, manager)},
		}}}},
	}
	table := &envoy_route_v3.RouteConfiguration{Name: "table", VirtualHosts: []*envoy_route_v3.VirtualHost{{
		Name: "all", Domains: []string{"*"}, Routes: []*envoy_route_v3.Route{{
			Match:  &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_Path{Path: path}},
			Action: &envoy_route_v3.Route_DirectResponse{DirectResponse: &envoy_route_v3.DirectResponseAction{Status: 204}},
		}},
	}}}
	return []xdsserve.Resource{resource(t, xdsserve.Listener, "web", listener), resource(t, xdsserve.Routes, "table", table)}
}

func resource(t *testing.T, kind xdsserve.Type, name string, m proto.Message) xdsserve.Resource {
	t.Helper()
	return xdsserve.Resource{Name: xdsserve.Name{Type: kind, Name: name}, Group: "mine", Body: repack(t, m).GetValue()}
}

func TestStart(t *testing.T) {
	static := Static(t, "mine", true, answering(t, "/hello")...)
	if err := Check(t, static); err != nil {
		t.Fatal(err)
	}
	e := Start(t, static)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+e.Address("web")+"/hello", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("status %d, want 204", response.StatusCode)
	}
	if page := string(e.Admin("/server_info")); !strings.Contains(page, Version) {
		t.Errorf("not Envoy %s: %s", Version, page)
	}
}

// TestEnds: an Envoy ends with the test that started it.
func TestEnds(t *testing.T) {
	var address string
	t.Run("running", func(t *testing.T) {
		address = Start(t, Static(t, "mine", true, answering(t, "/")...)).Address("web")
	})
	if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); err == nil {
		conn.Close()
		t.Error("Envoy still listens after its test")
	}
}

func TestCheckRefuses(t *testing.T) {
	wrong := &envoy_bootstrap_v3.Bootstrap{StaticResources: &envoy_bootstrap_v3.Bootstrap_StaticResources{
		Listeners: []*envoy_listener_v3.Listener{{Name: "no address"}},
	}}
	if err := Check(t, wrong); err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("a listener without an address gives %v", err)
	}
}

func TestOtherGroupsAreLeftOut(t *testing.T) {
	if got := Static(t, "other", true, answering(t, "/")...); len(got.GetStaticResources().GetListeners()) != 0 {
		t.Errorf("resources of another group are in: %v", got)
	}
}
