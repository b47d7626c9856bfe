package envoy

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/test/backend"
)

// TestMixedTLS: on one port, one name is ended here and served by a route table,
// one is ended here and passed on, one goes through to the backend's own
// certificate, and one is closed.
func TestMixedTLS(t *testing.T) {
	a := newAuthority(t)
	w := secure(a, map[string]string{"web.example": "web"}, backends(t, "web"))
	plain, err := backend.StartTCP(t.Context(), "plain", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	w.addBackend("plain", model.UpstreamTCP, plain.Addr)
	w.addBackend("own", model.UpstreamTCP, tlsEcho(t, a))
	pair := a.leaf("*.example")
	w.Certificates = append(w.Certificates, model.Certificate{ID: "shop/wild", Gateway: edge, Chain: pair.Cert, Key: pair.Key})
	port := w.Listeners[tlsPort]
	port.Chains = append(port.Chains,
		model.Chain{Name: "ended", Hostname: "*.example", Certificates: []model.CertificateID{"shop/wild"}, Stream: to("plain")},
		model.Chain{Name: "through", Hostname: "own.example", Stream: to("own")},
		model.Chain{Name: "closed", Hostname: "closed.example"},
	)
	w.Listeners[tlsPort] = port
	f := serve(t, w)
	at := f.envoy.Address(tlsPort)
	if got := f.askAt(at, a.client("web.example"), question{Host: "web.example"}); got.Backend != "web" {
		t.Errorf("HTTPS: status %d of %q", got.Status, got.Backend)
	}
	for name, want := range map[string]string{"any.example": "plain\n", "own.example": "own\n", "closed.example": "", "other.test": ""} {
		if got := hello(t, at, a.client(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// hello is the first line over TLS, or empty where the connection is closed.
func hello(t *testing.T, address string, config *tls.Config) string {
	t.Helper()
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: config}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		return ""
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	n, _ := io.ReadAtLeast(conn, line, 4)
	return string(line[:n])
}

// tlsEcho is a backend with a certificate of its own that says its name.
func tlsEcho(t *testing.T, a authority) netip.AddrPort {
	t.Helper()
	pair := a.leaf("own.example")
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "own\n")
			_ = conn.Close()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}
