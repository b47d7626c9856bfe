package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
)

// mutualTLS: an XBackend that selects endpoints by labels, and asks for a certificate:
// without one it answers nobody, and the XBackend's own is shown to it.
func (s *stage) mutualTLS(t *testing.T) {
	port := s.secureBackend(t, "mutual.test", tls.RequireAndVerifyClientCert, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Client", r.TLS.PeerCertificates[0].DNSNames[0])
	})
	client := must(s.ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "client.test"))(t)
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
`+s.authority("mutual-ca")+`---
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
