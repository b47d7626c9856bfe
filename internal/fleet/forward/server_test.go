package forward

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/proxy"
)

// A proxy that goes away lets what is under way end, answers nobody new, and says so.
func TestDrain(t *testing.T) {
	release := make(chan struct{})
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = io.WriteString(w, "late")
	})
	p := start(t, func(c *Config) { c.Limits.Drain = patience })
	tunnel, idle := connected(t, p, echo(t)), dial(t, p.address)
	idle.send(request("GET", "/")).answer("GET")
	busy := dial(t, p.address).send(request("GET", target))
	eventually(t, "three clients", func() bool { return p.counters.requests[overHTTP].Load() == 2 })
	p.end()
	idle.expectEnd()
	eventually(t, "draining", func() bool { return p.ask("/healthz").Code == 503 })
	if c, err := net.Dial("tcp", p.address); err == nil {
		_ = c.Close()
		t.Error("somebody new was accepted")
	}
	tunnel.send("hello").expect("hello")
	close(release)
	if resp, body := busy.answer("GET"); body != "late" || !resp.Close {
		t.Errorf("%q, close %t", body, resp.Close)
	}
	_ = tunnel.Close()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	p.ended <- nil
}

func TestADrainHasAnEnd(t *testing.T) {
	p := start(t)
	tunnel := connected(t, p, echo(t))
	p.end()
	tunnel.expectEnd()
}

func (r *rig) ask(path string, login ...string) *httptest.ResponseRecorder {
	w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
	if len(login) == 2 {
		req.SetBasicAuth(login[0], login[1])
	}
	r.Status(len(login) > 0).ServeHTTP(w, req)
	return w
}

func TestCountersCountWhileATunnelLives(t *testing.T) {
	p := start(t, bob)
	c := connected(t, p, echo(t), bobs)
	c.send("hello").expect("hello")
	dial(t, p.address).send(request("GET", "http://10.0.0.1/", bobs)).answer("GET")
	dial(t, p.address).send(request("GET", "http://10.0.0.1/", "Proxy-Authorization: Basic eDp5\r\n")).answer("GET")
	text := p.ask("/metrics").Body.String()
	for _, want := range []string{
		"gatehouse_forward_tunnels 1\n", `gatehouse_forward_bytes_total{direction="sent"} 5` + "\n", `gatehouse_forward_bytes_total{direction="received"} 5` + "\n",
		`gatehouse_forward_requests_total{protocol="connect"} 1` + "\n", `gatehouse_forward_requests_total{protocol="http"} 1` + "\n",
		`gatehouse_forward_refusals_total{error="destination_ip_prohibited"} 1` + "\n", "gatehouse_forward_wrong_passwords_total 1\n",
		"gatehouse_forward_connections_total 3\n", "gatehouse_forward_draining 0\n", "# TYPE gatehouse_forward_tunnels gauge\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	_ = c.Close()
	eventually(t, "the tunnel's bytes stay counted", func() bool {
		text := p.ask("/metrics").Body.String()
		return strings.Contains(text, "gatehouse_forward_tunnels 0\n") && strings.Contains(text, `{direction="received"} 5`+"\n")
	})
}

// Every metric that is described has a value, and every value is described.
func TestMetricsAreDescribed(t *testing.T) {
	values := start(t).values()
	for _, m := range Metrics() {
		if _, ok := values[m.Name]; !ok && m.Labels != "error" {
			t.Errorf("%s has no value", m.Name)
		}
		delete(values, m.Name)
	}
	if len(values) > 0 {
		t.Errorf("values that nobody described: %v", values)
	}
}

func TestStatusAsksForCredentials(t *testing.T) {
	p := start(t, bob)
	for path, codes := range map[string][2]int{"/healthz": {401, 200}, "/metrics": {401, 200}, "/other": {401, 404}} {
		if w := p.ask(path, "bob", "wrong"); w.Code != codes[0] || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s by a stranger: %d", path, w.Code)
		}
		if w := p.ask(path, "bob", "secret"); w.Code != codes[1] {
			t.Errorf("%s by bob: %d", path, w.Code)
		}
	}
}

// secured takes the certificate of net/http/httptest.
func secured(t *testing.T) (func(*Config), *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	client := s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client.ServerName, client.NextProtos = "example.com", nil
	return func(c *Config) { c.TLS = &tls.Config{Certificates: s.TLS.Certificates} }, client
}

func TestEverythingInsideTLS(t *testing.T) {
	withTLS, config := secured(t)
	p := start(t, withTLS, bob)
	_, port, _ := net.SplitHostPort(p.address)
	target := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	over := func() *client {
		c, err := tls.Dial("tcp", p.address, config)
		if err != nil {
			t.Fatal(err)
		}
		return talk(t, c)
	}
	if resp, body := over().send(request("GET", target, bobs)).answer("GET"); body != "hello" {
		t.Errorf("HTTP: %s %q", resp.Status, body)
	}
	c := over().send(request("CONNECT", echo(t), bobs) + "ahead")
	c.answer("CONNECT")
	c.expect("ahead")
	c.send("more").expect("more")
	d, err := proxy.SOCKS5("tcp", net.JoinHostPort("127.0.0.1", port), &proxy.Auth{User: "bob", Password: "secret"}, dialer(func(string, string) (net.Conn, error) { return over(), nil }))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Dial("tcp", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	talk(t, s).send("socks").expect("socks")
	if resp, _ := over().send(request("CONNECT", "127.0.0.1:1", bobs)).answer("CONNECT"); resp.StatusCode != 502 {
		t.Errorf("refused: %s", resp.Status)
	}
	if b, err := io.ReadAll(dial(t, p.address).send(request("GET", target)).in); isTimeout(err) || strings.Contains(string(b), "HTTP") {
		t.Errorf("in clear: %q %v", b, err)
	}
}

type dialer func(network, address string) (net.Conn, error)

func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

func TestAPortForSOCKSOnly(t *testing.T) {
	p := start(t, func(c *Config) { c.OnlySOCKS = true })
	socks(t, p, nil, echo(t)).send("x").expect("x")
	c := dial(t, p.address).send(request("GET", "http://127.0.0.1/"))
	if resp, body := c.answer("GET"); resp.StatusCode != 400 || !strings.Contains(body, "SOCKS") {
		t.Errorf("%s %q", resp.Status, body)
	}
}

func TestAPanicEndsOneConnection(t *testing.T) {
	logged := &strings.Builder{}
	p := start(t, func(c *Config) {
		c.Access = nil // so that every request panics
		c.Log = testLog(logged)
	})
	for range 2 {
		dial(t, p.address).send(request("GET", "http://127.0.0.1/")).expectEnd()
	}
	p.end()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
	p.ended <- nil
	if n := strings.Count(logged.String(), "ended in a panic"); n != 2 {
		t.Errorf("%d panics logged:\n%s", n, logged)
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = w.Write(b)
	})
	p := start(t, bob)
	const clients = 32
	done := make(chan error, clients)
	for range clients {
		client := through(t, "http://bob:secret@"+p.address)
		go func() {
			for range 20 {
				resp, err := client.Post(target, "text/plain", strings.NewReader(strings.Repeat("x", 10000)))
				if err != nil {
					done <- err
					return
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || len(b) != 10000 {
					done <- errors.Join(fmt.Errorf("%s, %d bytes", resp.Status, len(b)), err)
					return
				}
			}
			done <- nil
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	eventually(t, "everything counted", func() bool {
		return p.counters.requests[overHTTP].Load() == clients*20
	})
}

// testLog logs to a builder, which is read once nobody logs any more.
func testLog(b *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
