package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
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
)

// mutualTLS: an XBackend that selects endpoints by labels, and asks for a certificate:
// without one it answers nobody, and the XBackend's own is shown to it.
func (s *stage) mutualTLS(t *testing.T) {
	leaf := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "mutual.test"))(t)
	certificate := must(tls.X509KeyPair(leaf.Cert, leaf.Key))(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Client", r.TLS.PeerCertificates[0].DNSNames[0])
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.roots, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	client := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "client.test"))(t)
	port := server.Listener.Addr().(*net.TCPAddr).AddrPort().Port()
	xbackend := func(tls string) {
		s.write(t, "mutual.yaml", fmt.Sprintf(`apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: mutual, namespace: e2e}
spec:
  type: EndpointSelector
  endpointSelector: {matchLabels: {app: mutual}}
  port: {number: %d}
  tls: {%s, validation: {hostname: mutual.test, caCertificateRefs: [{group: "", kind: ConfigMap, name: mutual-ca}]}}
`, port, tls))
	}
	s.write(t, "mutual-parts.yaml", route("mutual", "http", "mutual"+domain, `  - backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: mutual}]`)+`
---
apiVersion: v1
kind: Service
metadata: {name: mutual, namespace: e2e}
spec: {selector: {app: mutual, tier: web}, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: mutual, namespace: e2e, labels: {kubernetes.io/service-name: mutual}}
addressType: IPv4
ports: [{port: 1}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mutual-ca, namespace: e2e}
data:
  ca.crt: |
    `+strings.ReplaceAll(strings.TrimSpace(string(s.ca.Cert)), "\n", "\n    ")+`
---
apiVersion: v1
kind: Secret
metadata: {name: mutual-client, namespace: e2e}
type: kubernetes.io/tls
data: {tls.crt: `+base64.StdEncoding.EncodeToString(client.Cert)+`, tls.key: `+base64.StdEncoding.EncodeToString(client.Key)+`}
`)
	xbackend("mode: ServerOnly")
	s.waitState(t, "xbackend", "e2e/mutual", verdict.Serving)
	s.eventually(t, "it answers nobody without a certificate", func(ctx context.Context) error { return s.try(ctx, "mutual"+domain, try{status: 503}) })
	xbackend("mode: ClientAndServer, clientCertificateRef: {name: mutual-client}")
	s.eventually(t, "it knows the Gateway", func(ctx context.Context) error {
		return s.try(ctx, "mutual"+domain, try{reply: "X-Client: client.test"})
	})
}
