package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// authority is a ConfigMap with the stage's certificate authority.
func (s *stage) authority(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: e2e}\ndata:\n  ca.crt: |\n    " +
		strings.ReplaceAll(strings.TrimSpace(string(s.ca.Cert)), "\n", "\n    ") + "\n"
}

// secureBackend starts a backend with TLS and a certificate of the stage's authority,
// by which it also verifies clients if it is to, and returns its port.
func (s *stage) secureBackend(t *testing.T, name string, clients tls.ClientAuthType, answer http.HandlerFunc) uint16 {
	t.Helper()
	leaf := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), name))(t)
	certificate := must(tls.X509KeyPair(leaf.Cert, leaf.Key))(t)
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: clients, ClientCAs: s.roots, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are what is tested
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

// backendTLS: a BackendTLSPolicy has a backend reached by TLS and verified by the
// authority in a ConfigMap; without that authority nothing is forwarded.
func (s *stage) backendTLS(t *testing.T) {
	at := s.secureBackend(t, "vault.test", tls.NoClientCert, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Name", r.TLS.ServerName) })
	s.write(t, "vault.yaml", pair("e2e", "vaulted", str(at))+
		route("vaulted", "http", "vaulted"+domain, `  - backendRefs: [{name: vaulted, port: 80}]`)+"\n"+`---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: vaulted, namespace: e2e}
spec:
  targetRefs: [{group: "", kind: Service, name: vaulted}]
  validation: {hostname: vault.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: vault-ca}]}
`)
	s.waitReason(t, "backendtlspolicy", "e2e/vaulted", "NoValidCACertificate")
	s.eventually(t, "nothing is forwarded", func(ctx context.Context) error { return s.try(ctx, "vaulted"+domain, try{status: 500}) })
	s.write(t, "vault-ca.yaml", s.authority("vault-ca"))
	s.waitState(t, "backendtlspolicy", "e2e/vaulted", verdict.Serving)
	s.waitState(t, "httproute", "e2e/vaulted", verdict.Serving)
	s.eventually(t, "the backend is verified", func(ctx context.Context) error { return s.try(ctx, "vaulted"+domain, try{reply: "X-Name: vault.test"}) })
}

// clientCertificates: a port that verifies clients lets in those with a certificate
// of its authority, and no one else.
func (s *stage) clientCertificates(t *testing.T) {
	secure := port(t)
	s.write(t, "strict-ca.yaml", s.authority("strict-ca"))
	s.write(t, "strict.yaml", gateway("strict", fmt.Sprintf("  - {name: strict, protocol: HTTPS, port: %d, hostname: a.e2e.test, tls: {certificateRefs: [{name: a-tls}]}}\n", secure))+
		`  tls: {frontend: {default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: strict-ca}]}}}}`+"\n---\n"+
		strings.ReplaceAll(route("strict", "strict", "a.e2e.test", "  - "+to("red")), "name: edge", "name: strict"))
	leaf := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "client.test"))(t)
	own := must(tls.X509KeyPair(leaf.Cert, leaf.Key))(t)
	ask := func(ctx context.Context, certificates ...tls.Certificate) (int, error) {
		got, err := rig.Do(ctx, rig.Request{Port: secure, Host: "a.e2e.test", Roots: s.roots, Certificates: certificates})
		return got.Status, err
	}
	s.eventually(t, "a client with a certificate", func(ctx context.Context) error {
		status, err := ask(ctx, own)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
	if status, err := ask(t.Context()); err == nil {
		t.Errorf("a client without a certificate gets status %d", status)
	}
}
