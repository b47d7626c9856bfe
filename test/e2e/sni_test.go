package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// sniListeners share the port of the HTTPS listeners.
const sniListeners = `  - {name: through, protocol: TLS, port: @HTTPS@, hostname: through.e2e.test, tls: {mode: Passthrough}}
  - {name: ended, protocol: TLS, port: @HTTPS@, hostname: "*.ended.e2e.test", tls: {certificateRefs: [{name: ended-tls}]}}
`

func tlsRoute(name, listener, host, backend string) string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: %s, namespace: e2e}
spec:
  parentRefs: [{name: edge, sectionName: %s}]
  hostnames: [%q]
  rules: [{backendRefs: [{name: %s, port: 80}]}]
`, name, listener, host, backend)
}

// tlsRoutes: connections are passed on by server name, TLS ended here or not, on
// the port of the HTTPS listeners.
func (s *stage) tlsRoutes(t *testing.T) {
	own := s.tlsBackend(t, "through.e2e.test")
	s.write(t, "tlsroutes.yaml", tlsRoute("through", "through", "through.e2e.test", "own")+"---\n"+
		tlsRoute("ended", "ended", "one.ended.e2e.test", "left")+"---\n"+pair("e2e", "own", str(own)))
	for name, want := range map[string]string{"through.e2e.test": "own\n", "one.ended.e2e.test": "left\n"} {
		s.eventually(t, name, func(ctx context.Context) error {
			if got := s.hello(ctx, name); got != want {
				return fmt.Errorf("%q, want %q", got, want)
			}
			return nil
		})
	}
	if got := s.hello(t.Context(), "two.ended.e2e.test"); got != "" {
		t.Errorf("a name without a route is answered %q", got)
	}
	for _, name := range []string{"through", "ended"} {
		s.waitState(t, "tlsroute", "e2e/"+name, verdict.Serving)
	}
}

// hello is the first line over TLS, or empty where the connection is closed.
func (s *stage) hello(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: s.roots, ServerName: name, MinVersion: tls.VersionTLS12}}).
		DialContext(ctx, "tcp", netip.AddrPortFrom(rig.Loopback, s.https).String())
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if conn.SetDeadline(deadline) != nil {
		return ""
	}
	line := make([]byte, 8)
	n, _ := io.ReadAtLeast(conn, line, 4)
	return string(line[:n])
}

// tlsBackend says "own" over TLS with a certificate of its own, and returns its port.
func (s *stage) tlsBackend(t *testing.T, name string) uint16 {
	t.Helper()
	leaf := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 30*24*time.Hour), name))(t)
	certificate := must(tls.X509KeyPair(leaf.Cert, leaf.Key))(t)
	l := must(tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}))(t)
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
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
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}
