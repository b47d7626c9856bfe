package envoy

import (
	"crypto/tls"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
)

// TestClientCertificates: without a valid certificate no client is let in, unless
// the listener says that it may.
func TestClientCertificates(t *testing.T) {
	a, clients, others := newAuthority(t), newAuthority(t), newAuthority(t)
	for name, c := range map[string]struct {
		optional bool
		status   map[string]int // by whose certificate; 0 is refused
	}{
		"required": {false, map[string]int{"ours": 200, "theirs": 0, "none": 0}},
		"optional": {true, map[string]int{"ours": 200, "theirs": 200, "none": 200}},
	} {
		t.Run(name, func(t *testing.T) {
			w := secure(a, map[string]string{"a.example": "a"}, backends(t, "a"))
			port := w.Listeners[tlsPort]
			port.Chains[0].Clients = &model.ClientCheck{CA: clients.ca.Cert, Optional: c.optional}
			f := serve(t, w)
			for whose, status := range c.status {
				config := a.client("a.example")
				switch whose {
				case "ours":
					config.Certificates = []tls.Certificate{certificateOf(t, clients)}
				case "theirs": // sent although it is of no authority that is asked for
					own := certificateOf(t, others)
					config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own, nil }
				}
				got, err := tryAt(t.Context(), f.envoy.Address(tlsPort), config, question{Host: "a.example"})
				if got.Status != status || (status == 0) != (err != nil) {
					t.Errorf("certificate %s: status %d, %v, want %d", whose, got.Status, err, status)
				}
			}
		})
	}
}

func certificateOf(t *testing.T, a authority) tls.Certificate {
	t.Helper()
	pair := a.leaf("client.example")
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// TestCertificateForBackends: a backend that asks for a certificate is shown the Gateway's.
func TestCertificateForBackends(t *testing.T) {
	a := newAuthority(t)
	at := secureBackend(t, a, "one.example")
	pair := a.leaf("gateway.example")
	w := plain(everything("one"), nil)
	w.addBackend("one", model.UpstreamHTTP1, at)
	w.Clusters[0].TLS = &model.UpstreamTLS{SNI: "one.example", CA: a.ca.Cert}
	w.Clusters[0].ClientCertificate = "shop/own"
	w.Certificates = []model.Certificate{{ID: "shop/own", Gateway: edge, Chain: pair.Cert, Key: pair.Key}}
	f := serve(t, w)
	if got := f.ask(question{}); got.Status != 200 || got.Header.Get("X-Client") != "gateway.example" {
		t.Errorf("status %d, and the backend was shown %q", got.Status, got.Header.Get("X-Client"))
	}
}
