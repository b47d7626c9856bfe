package envoy

import (
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// TestCalls: gRPC calls find their backend by service and method; what has none
// ends with a status of gRPC; requests that are no calls pass by.
func TestCalls(t *testing.T) {
	cart, err := backend.StartGRPC(t.Context(), "cart", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cart.Close() })
	w := plain(nil, backends(t, "web"))
	w.addBackend("cart", model.UpstreamHTTP2, cart.Addr)
	call := func(path model.Match, f *model.Forward) model.Route {
		path.GRPC = true
		return model.Route{Name: "shop/" + path.Path.Value, Match: path, Forward: f, Filters: model.Filters{Request: model.HeaderEdit{Add: []model.Header{{Name: "x-mark", Value: "grpc"}}}}}
	}
	gone := call(exact("/shop.Cart/Gone"), split(model.WeightedBackend{Weight: 1}))
	w.Tables[0].Hosts = []model.VirtualHost{{Domain: "*", Routes: []model.Route{
		call(exact("/shop.Cart/Add"), to("cart")), gone, call(prefix("/shop.Catalog"), to("cart")), call(pattern("/[^/]+/Ping"), to("cart")),
		{Name: "shop/closed", Match: model.Match{GRPC: true, Path: exact("/shop.Cart/Closed").Path}, Status: 503},
		{Name: "shop/web", Match: exact("/shop.Cart/Add"), Forward: to("web")},
	}}}
	f := serve(t, w)
	port := netip.MustParseAddrPort(f.envoy.Address(httpPort)).Port()
	for method, want := range map[string]struct {
		answer string
		code   codes.Code
	}{
		"/shop.Cart/Add":        {"cart /shop.Cart/Add grpc", codes.OK},
		"/shop.Catalog/List":    {"cart /shop.Catalog/List grpc", codes.OK},
		"/other.Service/Ping":   {"cart /other.Service/Ping grpc", codes.OK},
		"/shop.Cart/Gone":       {"", codes.Unavailable},
		"/shop.Cart/Closed":     {"", codes.Unavailable},
		"/shop.Cart/Remove":     {"", codes.Unimplemented},
		"/shop.CatalogOld/List": {"", codes.Unimplemented},
	} {
		answer, err := rig.Call(t.Context(), port, "shop.example", method)
		if answer != want.answer || status.Code(err) != want.code {
			t.Errorf("%s: %q, %v, want %q, %v", method, answer, err, want.answer, want.code)
		}
	}
	if got := f.ask(question{Path: "/shop.Cart/Add", Method: "POST"}); got.Backend != "web" {
		t.Errorf("a request that is no call: status %d of %q, want the backend web", got.Status, got.Backend)
	}
	if got := f.ask(question{Path: "/shop.Catalog/List"}); got.Status != 404 || strings.Contains(got.Header.Get("Content-Type"), "grpc") {
		t.Errorf("a request that is no call: status %d, want 404", got.Status)
	}
}
