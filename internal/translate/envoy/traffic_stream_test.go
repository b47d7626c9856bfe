package envoy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
)

const streamPort = "shop/edge/127.0.0.1/9000"

func streams(t testing.TB, to *model.Forward, names ...string) world {
	t.Helper()
	return forwarding(t, streamPort, model.Listener{Gateway: edge, Port: 9000, Protocol: model.TCP, Stream: to}, model.UpstreamTCP, names, func(name string) (netip.AddrPort, io.Closer, error) {
		b, err := backend.StartTCP(t.Context(), name, "127.0.0.1:0")
		if err != nil {
			return netip.AddrPort{}, nil, err
		}
		return b.Addr, b, nil
	})
}

// greet connects and returns the backend's name, or "" when the connection is
// closed without one. It sends a line and expects it back.
func greet(t testing.TB, address string) string {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	name, err := in.ReadString('\n')
	if err != nil {
		if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
			t.Fatal("the connection is neither served nor closed")
		}
		return ""
	}
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if echo, err := in.ReadString('\n'); err != nil || echo != "hello\n" {
		t.Fatalf("sent hello, got %q, %v", echo, err)
	}
	return strings.TrimSpace(name)
}

func TestStreams(t *testing.T) {
	share := func(name string, weight uint32) model.WeightedBackend {
		return model.WeightedBackend{Cluster: backendID(name), Weight: weight}
	}
	cases := []struct {
		name string
		to   *model.Forward
		want map[string]float64
	}{
		{"one", split(share("a", 1)), map[string]float64{"a": 1}},
		{"weighted", split(share("a", 3), share("b", 1)), map[string]float64{"a": 0.75, "b": 0.25}},
		{"zero", split(share("a", 0), share("b", 1)), map[string]float64{"b": 1}},
		{"missing share", split(share("a", 1), share("", 1)), map[string]float64{"a": 0.5, "": 0.5}},
		{"missing", split(share("", 1)), map[string]float64{"": 1}},
		{"none", nil, map[string]float64{"": 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := serve(t, streams(t, c.to, "a", "b"))
			at := f.envoy.Address(streamPort)
			const n = 200
			count := map[string]int{}
			for range n {
				count[greet(t, at)]++
			}
			for name := range count {
				// Five standard deviations of a fair draw are 0.18.
				if got, want := float64(count[name])/n, c.want[name]; got < want-0.18 || got > want+0.18 || want == 0 {
					t.Errorf("%q got %.2f of the connections, want %.2f", name, got, want)
				}
			}
		})
	}
}

func TestDrainingEndpoints(t *testing.T) {
	at := backends(t, "stays", "drains")
	hosts := func() []model.VirtualHost {
		return []model.VirtualHost{{Domain: "*", Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: to("cart")}}}}
	}
	all := func(endpoints ...model.Endpoint) world {
		w := plain(hosts(), map[string]netip.AddrPort{"cart": {}})
		w.Endpoints[0].Addresses = endpoints
		return w
	}
	stays, drains := model.Endpoint{Address: at["stays"]}, model.Endpoint{Address: at["drains"], Draining: true}
	second := model.Endpoint{Address: netip.MustParseAddrPort("127.0.0.1:1"), Draining: true}
	for name, c := range map[string]struct {
		w    world
		want string
	}{
		"one draining":     {all(drains, stays), "stays"},
		"most draining":    {all(second, drains, stays), "stays"},
		"nothing but them": {all(drains), "drains"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, c.w)
			for range 30 {
				if got := f.ask(question{}); got.Backend != c.want {
					t.Fatalf("answered by %q (status %d), want %q", got.Backend, got.Status, c.want)
				}
			}
		})
	}
	t.Run("no endpoints", func(t *testing.T) {
		if got := serve(t, all()).ask(question{}); got.Status != 503 {
			t.Errorf("status %d, want 503", got.Status)
		}
	})
}

// TestDeadEndpoint: an endpoint that refuses connections costs no request.
func TestDeadEndpoint(t *testing.T) {
	at := backends(t, "alive")
	w := plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: to("cart")}}}}, map[string]netip.AddrPort{"cart": at["alive"]})
	w.Endpoints[0].Addresses = append(w.Endpoints[0].Addresses, model.Endpoint{Address: netip.MustParseAddrPort("127.0.0.1:1")})
	f := serve(t, w)
	for range 30 {
		if got := f.ask(question{}); got.Status != 200 {
			t.Fatalf("status %d, want 200 from the endpoint that is alive", got.Status)
		}
	}
}
