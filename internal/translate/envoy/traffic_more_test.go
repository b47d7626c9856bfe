package envoy

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

func everything(name string) []model.VirtualHost {
	return []model.VirtualHost{{Domain: "*", Routes: []model.Route{{Name: "shop/all", Match: prefix("/"), Forward: to(name)}}}}
}

// TestUpgrades: a WebSocket handshake reaches the backend, and bytes flow after it.
func TestUpgrades(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(conn, in)
	}()
	f := serve(t, plain(everything("socket"), map[string]netip.AddrPort{"socket": netip.MustParseAddrPort(l.Addr().String())}))
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.envoy.Address(httpPort))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("the handshake is answered with %v", response)
	}
	_, _ = io.WriteString(conn, "ping\n")
	if line, err := in.ReadString('\n'); line != "ping\n" {
		t.Errorf("sent ping, got %q, %v", line, err)
	}
}

func TestUpstreamProtocols(t *testing.T) {
	at := backends(t, "b")
	w := plain(nil, nil)
	w.addBackend("h1", model.UpstreamHTTP1, at["b"])
	w.addBackend("h2", model.UpstreamHTTP2, at["b"])
	w.Tables[0].Hosts = []model.VirtualHost{{Domain: "*", Routes: []model.Route{
		{Name: "1", Match: prefix("/h1"), Forward: to("h1")}, {Name: "2", Match: prefix("/h2"), Forward: to("h2")},
	}}}
	f := serve(t, w)
	for path, want := range map[string]string{"/h1": "HTTP/1.1", "/h2": "HTTP/2.0"} {
		if got := f.ask(question{Path: path}); got.Proto != want {
			t.Errorf("%s: the backend was spoken to in %q (status %d), want %s", path, got.Proto, got.Status, want)
		}
	}
}

// TestAccessLog: a request is one line of JSON with its route.
func TestAccessLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	w := plain(everything("b"), backends(t, "b"))
	w.Gateways[0].Settings.AccessLog = path
	f := serve(t, w)
	f.ask(question{Path: "/a?b=c"})
	deadline := time.Now().Add(20 * time.Second)
	var text []byte
	for len(text) == 0 && time.Now().Before(deadline) {
		text, _ = os.ReadFile(path)
		f.envoy.Admin("/stats/prometheus?filter=none") // a pause that needs no clock
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(strings.SplitN(string(text), "\n", 2)[0]), &line); err != nil {
		t.Fatalf("not a line of JSON: %q: %v", text, err)
	}
	for field, want := range map[string]any{"status": 200.0, "path": "/a?b=c", "route": "shop/all", "cluster": "shop/b:80", "host": "shop.example", "method": "GET", "attempts": 1.0} {
		if line[field] != want {
			t.Errorf("%s is %v, want %v", field, line[field], want)
		}
	}
}

// TestBrokenRoutes: a route that cannot be made takes nothing with it, and what
// matches it gets 500 and not another route's answer.
func TestBrokenRoutes(t *testing.T) {
	w := plain([]model.VirtualHost{
		{Domain: "*", Routes: []model.Route{
			{Name: "shop/bad-action", Match: prefix("/bad"), Redirect: &model.Redirect{Status: 302, Hostname: "not a host"}, Origins: origin("bad")},
			{Name: "shop/bad-match", Match: pattern("/(a"), Forward: to("b"), Origins: origin("match")},
			{Name: "shop/rest", Match: prefix("/"), Forward: to("b"), Origins: origin("rest")},
		}},
		{Domain: "not a host", Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: to("b"), Origins: origin("host")}}},
	}, backends(t, "b"))
	got := translate(t, w)
	var failed []string
	for _, f := range got.failures {
		failed = append(failed, f.Origins[0].Name+" "+f.Field+": "+f.Message)
	}
	want := []string{
		`shop/bad redirect.hostname: "not a host": not a host name: each label has 1 to 63 of a-z, 0-9, _ and inner -`,
		`shop/match match.path.value: "/(a": invalid regular expression: missing closing ); use RE2 syntax`,
		`shop/host hosts.domain: "not a host": not a host name: each label has 1 to 63 of a-z, 0-9, _ and inner -`,
	}
	if strings.Join(failed, "\n") != strings.Join(want, "\n") {
		t.Errorf("failures:\n%s\nwant:\n%s", strings.Join(failed, "\n"), strings.Join(want, "\n"))
	}
	f := serveAs(t, got)
	for path, status := range map[string]int{"/bad/x": 500, "/(a": 200, "/": 200} {
		if got := f.ask(question{Path: path}); got.Status != status {
			t.Errorf("%s: status %d, want %d", path, got.Status, status)
		}
	}
}

func origin(name string) []model.Ref {
	return []model.Ref{{Collection: "HTTPRoute", Name: "shop/" + name}}
}

func TestEscapedSlashes(t *testing.T) {
	f := serve(t, plain(everything("b"), backends(t, "b")))
	if got := f.ask(question{Path: "/a%2Fb?c=%2F"}); got.Status != 307 || got.Location != "/a/b?c=%2F" {
		t.Errorf("/a%%2Fb: %d %s, want a redirect to /a/b", got.Status, got.Location)
	}
	if got := f.ask(question{Path: "/a%20b"}); got.Path != "/a%20b" {
		t.Errorf("/a%%20b reached the backend as %s", got.Path)
	}
}

// TestForgedHeaders: what only Envoy may say is not taken from a client.
func TestForgedHeaders(t *testing.T) {
	f := serve(t, plain(everything("b"), backends(t, "b")))
	got := f.ask(question{Header: header("x-envoy-upstream-rq-timeout-ms", "1", "x-answer-delay", "50ms", "x-envoy-internal", "true", "x-forwarded-for", "192.0.2.7")})
	if got.Status != 200 {
		t.Errorf("a client set the timeout: status %d", got.Status)
	}
	if v := got.Answer.Headers.Get("X-Envoy-Internal"); v != "" {
		t.Errorf("x-envoy-internal reached the backend: %q", v)
	}
	if v := got.Answer.Headers.Get("X-Forwarded-For"); !strings.HasPrefix(v, "192.0.2.7,") {
		t.Errorf("x-forwarded-for is %q, want the client's with the connection's address behind it", v)
	}
}
