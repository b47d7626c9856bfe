package envoy

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

const tlsPort = "shop/edge/127.0.0.1/8443"

// authority makes certificates that its pool trusts.
type authority struct {
	t  testing.TB
	ca *tlsutil.CA
}

func newAuthority(t testing.TB) authority {
	t.Helper()
	ca, err := tlsutil.NewCA("tests", valid())
	if err != nil {
		t.Fatal(err)
	}
	return authority{t, ca}
}

func valid() tlsutil.Validity { return tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour) }

func (a authority) leaf(names ...string) tlsutil.Pair {
	a.t.Helper()
	pair, err := a.ca.Leaf(valid(), names...)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// client trusts the authority and asks for a server name.
func (a authority) client(name string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.ca.Cert)
	return &tls.Config{RootCAs: pool, ServerName: name}
}

// secure is a world with one HTTPS port: one chain a host name, each with a
// certificate and a table that goes to the backend of its name.
func secure(a authority, chains map[string]string, at map[string]netip.AddrPort) world {
	w := plain(nil, at)
	port := model.Listener{Gateway: edge, Port: 8443, Protocol: model.HTTPS}
	for host, name := range chains {
		certificate := model.CertificateID("shop/" + name)
		san := host
		if san == "" {
			san = "default.example"
		}
		pair := a.leaf(san)
		w.Certificates = append(w.Certificates, model.Certificate{ID: certificate, Gateway: edge, Chain: pair.Cert, Key: pair.Key})
		id := model.TableID("shop/edge/8443/" + name)
		port.Chains = append(port.Chains, model.Chain{Name: name, Hostname: host, Certificates: []model.CertificateID{certificate}, Table: id})
		domain := host
		if domain == "" {
			domain = "*"
		}
		hosts := []model.VirtualHost{{Domain: domain, Routes: []model.Route{{Name: "r", Match: prefix("/"), Forward: to(name)}}}}
		for other := range chains {
			if other != host && other != "" {
				hosts = append(hosts, model.VirtualHost{Domain: other, Misdirected: true})
			}
		}
		w.Tables = append(w.Tables, table{model.RouteTable{ID: id, Gateway: edge}, hosts})
	}
	w.Listeners[tlsPort] = port
	return w
}

func TestServerNames(t *testing.T) {
	a := newAuthority(t)
	f := serve(t, secure(a, map[string]string{"a.example": "a", "*.example": "wild", "": "rest"}, backends(t, "a", "wild", "rest")))
	at := f.envoy.Address(tlsPort)
	cases := []struct {
		sni, host string
		status    int
		want      string
	}{
		{"a.example", "a.example", 200, "a"},
		{"a.example", "a.example:8443", 200, "a"},
		{"b.example", "b.example", 200, "wild"},
		{"a.example", "b.example", 421, ""},
		{"b.example", "a.example", 421, ""},
		{"b.example", "a.example:8443", 421, ""},
		{"a.example", "c.test", 404, ""},
		{"default.example", "default.example", 200, "wild"},
	}
	for _, c := range cases {
		got := f.askAt(at, a.client(c.sni), question{Host: c.host})
		if got.Status != c.status || got.Backend != c.want {
			t.Errorf("name %s, host %s: %d from %q, want %d from %q", c.sni, c.host, got.Status, got.Backend, c.status, c.want)
		}
	}
	anyName := a.client("127.0.0.1") // an address is never sent as a name
	anyName.InsecureSkipVerify = true
	if got := f.askAt(at, anyName, question{Host: "c.test"}); got.Backend != "rest" {
		t.Errorf("a handshake without a name went to %q (status %d), want rest", got.Backend, got.Status)
	}
}

func TestTLSHandshakes(t *testing.T) {
	a := newAuthority(t)
	f := serve(t, secure(a, map[string]string{"a.example": "a"}, backends(t, "a")))
	at := f.envoy.Address(tlsPort)
	shake := func(c *tls.Config) (tls.ConnectionState, error) {
		conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", at, c)
		if err != nil {
			return tls.ConnectionState{}, err
		}
		defer conn.Close()
		return conn.ConnectionState(), nil
	}
	for _, protocol := range []string{"h2", "http/1.1"} {
		c := a.client("a.example")
		c.NextProtos = []string{protocol}
		if state, err := shake(c); err != nil || state.NegotiatedProtocol != protocol {
			t.Errorf("asking for %s gives %q, %v", protocol, state.NegotiatedProtocol, err)
		}
	}
	old := a.client("a.example")
	old.MinVersion, old.MaxVersion = tls.VersionTLS11, tls.VersionTLS11
	if _, err := shake(old); err == nil {
		t.Error("TLS 1.1 is served")
	}
	if _, err := shake(a.client("b.example")); err == nil {
		t.Error("a server name that no listener has is served")
	}
}

func TestSeveralCertificates(t *testing.T) {
	a := newAuthority(t)
	w := secure(a, map[string]string{"": "a"}, backends(t, "a"))
	for _, name := range []string{"x.example", "y.example"} {
		pair := a.leaf(name)
		w.Certificates = append(w.Certificates, model.Certificate{ID: model.CertificateID("shop/" + name), Gateway: edge, Chain: pair.Cert, Key: pair.Key})
	}
	port := w.Listeners[tlsPort]
	port.Chains[0].Certificates = []model.CertificateID{"shop/x.example", "shop/y.example", "shop/x.example"}
	f := serve(t, w)
	for _, name := range []string{"x.example", "y.example"} {
		if got := f.askAt(f.envoy.Address(tlsPort), a.client(name), question{Host: name}); got.Status != 200 {
			t.Errorf("%s: status %d", name, got.Status)
		}
	}
}

// tlsBackend speaks TLS with a certificate of the authority, and says which
// protocol it was spoken to with.
func tlsBackend(t *testing.T, a authority, name string, http2 bool) netip.AddrPort {
	t.Helper()
	pair, err := a.leaf(name).TLS()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
		w.Header().Set("X-Server-Name", r.TLS.ServerName)
	}))
	s.EnableHTTP2 = http2
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

func TestBackendTLS(t *testing.T) {
	a := newAuthority(t)
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, a.ca.Cert, 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := tlsBackend(t, a, "good.example", false), tlsBackend(t, a, "good.example", true)
	clusters := []struct {
		name     string
		at       netip.AddrPort
		protocol model.UpstreamProtocol
		sni      string
		status   int
		proto    string
	}{
		{"http1", one, model.UpstreamHTTP1, "good.example", 200, "HTTP/1.1"},
		{"http2", two, model.UpstreamHTTP2, "good.example", 200, "HTTP/2.0"},
		{"http2-to-http1", one, model.UpstreamHTTP2, "good.example", 200, "HTTP/1.1"},
		{"http1-to-http2", two, model.UpstreamHTTP1, "good.example", 200, "HTTP/1.1"},
		{"wrong-name", one, model.UpstreamHTTP1, "bad.example", 503, ""},
	}
	w := plain(nil, nil)
	var routes []model.Route
	for _, c := range clusters {
		w.addBackend(c.name, c.protocol, c.at)
		w.Clusters[len(w.Clusters)-1].TLS = &model.UpstreamTLS{SNI: c.sni}
		routes = append(routes, model.Route{Name: c.name, Match: prefix("/" + c.name), Forward: to(c.name)})
	}
	w.Tables[0].Hosts = []model.VirtualHost{{Domain: "*", Routes: routes}}
	f := serveAs(t, translateWith(t, w, Options{CAFile: caFile}))
	for _, c := range clusters {
		got := f.ask(question{Path: "/" + c.name})
		if got.Status != c.status || got.Header.Get("X-Proto") != c.proto {
			t.Errorf("%s: status %d by %s, want %d by %s", c.name, got.Status, got.Header.Get("X-Proto"), c.status, c.proto)
		}
		if c.status == 200 && got.Header.Get("X-Server-Name") != c.sni {
			t.Errorf("%s: asked for %q, want %q", c.name, got.Header.Get("X-Server-Name"), c.sni)
		}
	}
}
