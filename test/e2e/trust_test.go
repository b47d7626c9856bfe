package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
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

// backendTLS: a BackendTLSPolicy has a backend reached by TLS and verified by the
// authority in a ConfigMap; without that authority nothing is forwarded.
func (s *stage) backendTLS(t *testing.T) {
	leaf := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "vault.test"))(t)
	certificate := must(tls.X509KeyPair(leaf.Cert, leaf.Key))(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Name", r.TLS.ServerName) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	s.write(t, "vault.yaml", pair("e2e", "vaulted", str(server.Listener.Addr().(*net.TCPAddr).AddrPort().Port()))+
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
	s.write(t, "vault-ca.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vault-ca, namespace: e2e}\ndata:\n  ca.crt: |\n    "+
		strings.ReplaceAll(strings.TrimSpace(string(s.ca.Cert)), "\n", "\n    ")+"\n")
	s.waitState(t, "backendtlspolicy", "e2e/vaulted", verdict.Serving)
	s.waitState(t, "httproute", "e2e/vaulted", verdict.Serving)
	s.eventually(t, "the backend is verified", func(ctx context.Context) error { return s.try(ctx, "vaulted"+domain, try{reply: "X-Name: vault.test"}) })
}

// clientCertificates: a port that verifies clients lets in those with a certificate
// of its authority, and no one else.
func (s *stage) clientCertificates(t *testing.T) {
	secure := port(t)
	s.write(t, "strict-ca.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: strict-ca, namespace: e2e}\ndata:\n  ca.crt: |\n    "+
		strings.ReplaceAll(strings.TrimSpace(string(s.ca.Cert)), "\n", "\n    ")+"\n")
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
