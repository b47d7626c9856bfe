package xdsserve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	envoy_listener_v3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcm_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// subscriber is a listener that asks for scopes from the start and binds nothing.
const subscriber = `
  listeners:
  - name: subscriber
    bind_to_port: false
    address: {pipe: {path: %[3]s.subscriber}}
    filter_chains:
    - filters:
      - name: http
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: s
          scoped_routes:
            name: scopes
            scope_key_builder: {fragments: [{header_value_extractor: {name: x-key, index: 0}}]}
            rds_config_source: {ads: {}, resource_api_version: V3}
            scoped_rds: {scoped_rds_config_source: {ads: {}, resource_api_version: V3}}
          http_filters:
          - {name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
`

// scopedEnvoy is oneEnvoy with a subscriber.
func scopedEnvoy(t *testing.T, published ...xdsserve.Resource) *rig {
	t.Helper()
	r := scopedRig(t)
	seq := r.Publish(xdsserve.Update{Set: published})
	startEnvoy(r, "envoy-0")
	r.settle(seq, 1)
	return r
}

// scopedRig is a rig whose Envoys have a subscriber.
func scopedRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, xdsserve.Options{Drain: 1500 * time.Millisecond})
	r.bootstrap, r.drain = bootstrap+subscriber, "1"
	return r
}

// scope answers for one part of the set x; without clusters with 404.
func scope(t *testing.T, part string, status uint32, clusters ...string) xdsserve.Resource {
	t.Helper()
	vh := &envoy_route_v3.VirtualHost{Name: "all", Domains: []string{"*"}}
	for _, c := range clusters {
		vh.Routes = append(vh.Routes, prefixRoute("/", c))
	}
	if status > 0 {
		vh.Routes = append(vh.Routes, &envoy_route_v3.Route{
			Match:  &envoy_route_v3.RouteMatch{PathSpecifier: &envoy_route_v3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &envoy_route_v3.Route_DirectResponse{DirectResponse: &envoy_route_v3.DirectResponseAction{Status: status}},
		})
	}
	key := &envoy_route_v3.ScopedRouteConfiguration_Key{Fragments: []*envoy_route_v3.ScopedRouteConfiguration_Key_Fragment{{
		Type: &envoy_route_v3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: part},
	}}}
	table := &envoy_route_v3.RouteConfiguration{Name: part, VirtualHosts: []*envoy_route_v3.VirtualHost{vh}}
	return resource(t, xdsserve.Scopes, "x/"+part, &envoy_route_v3.ScopedRouteConfiguration{Name: "x/" + part, Key: key, RouteConfiguration: table},
		names(xdsserve.Cluster, clusters...)...)
}

// scopedListener looks routes up by the host of the request, without its port.
func scopedListener(t *testing.T, name string, port int) xdsserve.Resource {
	t.Helper()
	manager := hcm(t, "", "s")
	manager.RouteSpecifier = &hcm_v3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcm_v3.ScopedRoutes{
		Name: "scopes", RdsConfigSource: ads(),
		ScopeKeyBuilder: &hcm_v3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
			Type: &hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
				HeaderValueExtractor: &hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
					Name: ":authority", ElementSeparator: ":",
					ExtractType: &hcm_v3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
				},
			},
		}}},
		ConfigSpecifier: &hcm_v3.ScopedRoutes_ScopedRds{ScopedRds: &hcm_v3.ScopedRds{ScopedRdsConfigSource: ads()}},
	}}
	l := listenerMessage(t, name, port, "", "s")
	l.FilterChains[0].Filters[0].ConfigType = &envoy_listener_v3.Filter_TypedConfig{TypedConfig: anyOf(t, manager)}
	return resource(t, xdsserve.Listener, name, l, names(xdsserve.Scopes, "x/")...)
}

// rest is the rest of the set x: it answers nothing here.
func rest(t *testing.T) xdsserve.Resource { t.Helper(); return scope(t, "", 404) }

// A scope is one resource: it comes, changes and goes alone, at once.
func TestScopes(t *testing.T) {
	a, b, port := backend(t, "a"), backend(t, "b"), freePort(t)
	r := scopedEnvoy(t, concat(cluster(t, "a", a), cluster(t, "b", b), []xdsserve.Resource{rest(t), scope(t, "other", 418), scopedListener(t, "l", port)})...)
	expect := func(want string) {
		t.Helper()
		if got := ask(httpClient(t), local(port)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	part := func(cluster string) xdsserve.Resource { return scope(t, "127.0.0.1", 0, cluster) }
	expect("404 ")
	mark := r.log.mark()
	r.set(part("a"))
	expect("200 a")
	r.set(part("b"))
	expect("200 b")
	r.Publish(xdsserve.Update{Remove: scoped(xdsserve.Scopes, "x/127.0.0.1")})
	r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Scopes, "x/127.0.0.1"))
	expect("404 ")
	for _, e := range r.log.since(mark) {
		if e.Kind == xdsserve.Sent && !slices.Equal(e.Names, []string{"x/127.0.0.1"}) && !slices.Equal(e.Removed, []string{"x/127.0.0.1"}) {
			t.Errorf("more was sent than the scope: %s", line(e))
		}
	}
}

// A listener that looks routes up by scope comes after its scopes, and goes back to
// a table before they leave; no request fails.
func TestScopesComeAndGoUnderLoad(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	scopes := []xdsserve.Resource{rest(t), scope(t, "127.0.0.1", 0, "a")}
	for i := range 300 {
		scopes = append(scopes, scope(t, fmt.Sprint("s", i), 0, "a"))
	}
	r := scopedEnvoy(t, shop(t, port, a)...)
	l := startLoad(t, local(port))
	for range 2 {
		r.set(append(scopes, scopedListener(t, "l", port))...)
		l.more(t, 40)
		u := set(listener(t, "l", port, "t", "s"))
		for _, s := range scopes {
			u.Remove = append(u.Remove, xdsserve.Scoped{Group: group, Name: s.Name})
		}
		mark := r.log.mark()
		r.Publish(u)
		r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Scopes, "x/127.0.0.1"))
		l.more(t, 40)
	}
	l.only(t, "200 a")
}

// One bad scope of many is found, and the others serve.
func TestOneBadScope(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	r := scopedEnvoy(t, append(cluster(t, "a", a), rest(t), scopedListener(t, "l", port))...)
	bad := scope(t, "bad", 0, "a")
	message := new(envoy_route_v3.ScopedRouteConfiguration)
	must(t, proto.Unmarshal(bad.Body, message))
	message.RouteConfiguration.VirtualHosts[0].RequestHeadersToAdd = []*envoy_core_v3.HeaderValueOption{{Header: &envoy_core_v3.HeaderValue{Key: "x", Value: "%NOPE%"}}}
	bad = resource(t, xdsserve.Scopes, "x/bad", message, names(xdsserve.Cluster, "a")...)
	change := []xdsserve.Resource{bad, scope(t, "127.0.0.1", 0, "a")}
	for i := range 20 {
		change = append(change, scope(t, fmt.Sprint("s", i), 0, "a"))
	}
	r.set(change...)
	if got := refusals(r); len(got) != 1 || !strings.HasPrefix(got[0], "x/bad: ") {
		t.Fatalf("refused: %q, want x/bad", got)
	}
	if got := ask(httpClient(t), local(port)); got != "200 a" {
		t.Errorf("the good scope: %q, want 200 a", got)
	}
}

// A restarted server sends no scope that the proxy has, and takes back at once what
// was withdrawn while it was away.
func TestScopesAfterRestart(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	published := append(cluster(t, "a", a), rest(t), scope(t, "127.0.0.1", 0, "a"), scopedListener(t, "l", port))
	for i := range 100 {
		published = append(published, scope(t, fmt.Sprint("s", i), 0, "a"))
	}
	r := scopedEnvoy(t, append(published, scope(t, "gone", 0, "a"))...)
	l := startLoad(t, local(port))
	r.stop()
	mark := r.log.mark()
	r.start(xdsserve.Options{})
	r.settle(r.Publish(set(published...)), 1)
	r.log.untilEvent(mark, removes(xdsserve.Acknowledged, xdsserve.Scopes, "x/gone"))
	l.more(t, 40)
	for _, e := range r.log.since(mark) {
		if e.Kind == xdsserve.Sent && len(e.Names) > 0 {
			t.Errorf("sent to a proxy that had everything: %s", line(e))
		}
	}
	l.only(t, "200 a")
}
