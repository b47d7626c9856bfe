package xdsserve_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	envoy_core_v3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tls_v3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// secret returns a self-signed pair for a common name.
func secret(t *testing.T, name, commonName string) xdsserve.Resource {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: commonName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return resource(t, xdsserve.Secret, name, &tls_v3.Secret{Name: name, Type: &tls_v3.Secret_TlsCertificate{
		TlsCertificate: &tls_v3.TlsCertificate{
			CertificateChain: inline("CERTIFICATE", der), PrivateKey: inline("PRIVATE KEY", keyDER),
		},
	}})
}

func inline(block string, der []byte) *envoy_core_v3.DataSource {
	return &envoy_core_v3.DataSource{Specifier: &envoy_core_v3.DataSource_InlineBytes{
		InlineBytes: pem.EncodeToMemory(&pem.Block{Type: block, Bytes: der}),
	}}
}

// tlsListener terminates TLS with a secret.
func tlsListener(t *testing.T, name string, port int, secret string) xdsserve.Resource {
	t.Helper()
	l := listenerMessage(t, name, port, "t", "tls")
	l.FilterChains[0].TransportSocket = &envoy_core_v3.TransportSocket{
		Name: "envoy.transport_sockets.tls",
		ConfigType: &envoy_core_v3.TransportSocket_TypedConfig{TypedConfig: anyOf(t, &tls_v3.DownstreamTlsContext{
			CommonTlsContext: &tls_v3.CommonTlsContext{
				TlsCertificateSdsSecretConfigs: []*tls_v3.SdsSecretConfig{{Name: secret, SdsConfig: ads()}},
			},
		})},
	}
	return resource(t, xdsserve.Listener, name, l, append(names(xdsserve.Routes, "t"), names(xdsserve.Secret, secret)...)...)
}

// A listener waits for its secret, which comes later, and serves; a rotation under
// load costs no request; a pair that does not match is refused and the old one serves.
func TestSecretLateRotatedAndBad(t *testing.T) {
	a, port := backend(t, "a"), freePort(t)
	r, _ := oneEnvoy(t, xdsserve.Options{}, shop(t, freePort(t), a)...)
	r.set(tlsListener(t, "tls", port, "s"))
	r.set(secret(t, "s", "one"))
	url := fmt.Sprintf("https://127.0.0.1:%d/", port)
	l := startLoad(t, url)
	for i := range 5 {
		r.set(secret(t, "s", fmt.Sprint("number", i)))
		l.more(t, 30)
		if cn, want := commonName(t, port), fmt.Sprint("number", i); cn != want {
			t.Errorf("certificate of %q, want %q", cn, want)
		}
	}
	bad := &tls_v3.Secret{Name: "s", Type: &tls_v3.Secret_TlsCertificate{TlsCertificate: &tls_v3.TlsCertificate{
		CertificateChain: inline("CERTIFICATE", []byte("no certificate")), PrivateKey: inline("PRIVATE KEY", []byte("no key")),
	}}}
	r.set(resource(t, xdsserve.Secret, "s", bad))
	if got := refusals(r); len(got) != 1 {
		t.Errorf("refused %q, want the secret", got)
	}
	l.more(t, 30)
	l.only(t, "200 a")
	if cn := commonName(t, port); cn != "number4" {
		t.Errorf("certificate of %q after the bad one, want the previous", cn)
	}
}

func commonName(t *testing.T, port int) string {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
	must(t, err)
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
}

// trusting makes a client accept any certificate.
func trusting(tr *http.Transport) *http.Transport {
	tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	return tr
}
