package process

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/provider"
)

// TestSchemes: the real program starts with every scheme, with and without credentials.
func TestSchemes(t *testing.T) { schemes(t, nil) }

func TestSchemesInNamespaces(t *testing.T) {
	if alone(t) {
		schemes(t, &Network{})
	}
}

func schemes(t *testing.T, n *Network) {
	certificate, key := pair(t)
	for _, scheme := range []string{"http", "https", "socks5"} {
		for _, open := range []bool{false, true} {
			t.Run(scheme+", open "+strconv.FormatBool(open), func(t *testing.T) {
				p := newWorld(t, n).Open(t, "ours").(*Provider)
				r := request("ours", uid)
				r.Scheme = scheme
				if open {
					r.Credentials = provider.Credentials{}
				}
				if scheme == "https" {
					r.Credentials.TLSCert, r.Credentials.TLSKey = certificate, key
				}
				if _, err := p.Create(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				got := runs(t, p)
				if scheme == "https" {
					shows(t, net.JoinHostPort(got.IP.String(), strconv.Itoa(r.Port)), certificate)
				}
				ends(t, p)
			})
		}
	}
}

// shows asserts that a server shows a certificate.
func shows(t *testing.T, address string, want []byte) {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it is compared
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	block, _ := pem.Decode(want)
	if shown := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]; string(shown.Raw) != string(block.Bytes) {
		t.Errorf("it shows a certificate of %v", shown.Subject)
	}
}

// pair returns a certificate and its key, as PEM.
func pair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"proxy.test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// TestHTTPSWithoutCertificate: what cannot be served is refused, and nothing is made.
func TestHTTPSWithoutCertificate(t *testing.T) {
	p := newWorld(t, nil).Open(t, "ours").(*Provider)
	r := request("ours", uid)
	r.Scheme = "https"
	if _, err := p.Create(t.Context(), r); provider.ClassName(err) != "Permanent" {
		t.Errorf("https without a certificate: %v, want that it is refused", err)
	}
	clean(t, p.options.Dir)
}
