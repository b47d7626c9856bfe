package tlsutil

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Pair is a certificate chain, leaf first, and its private key, both PEM.
type Pair struct {
	Cert, Key []byte
}

// TLS returns the pair for crypto/tls.
func (p Pair) TLS() (tls.Certificate, error) { return tls.X509KeyPair(p.Cert, p.Key) }

// Validity is when a certificate is valid.
type Validity struct {
	NotBefore, NotAfter time.Time
}

// From returns the Validity of d from now.
func From(now time.Time, d time.Duration) Validity {
	return Validity{NotBefore: now, NotAfter: now.Add(d)}
}

// CA is a self-signed authority that makes leaves. Its serial numbers are
// random, as RFC 5280 wants them unique.
type CA struct {
	Pair
	cert   *x509.Certificate
	signer crypto.Signer
}

// NewCA makes an authority with an ECDSA P-256 key.
func NewCA(name string, v Validity) (*CA, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	pair, cert, key, err := issue(template, v, nil)
	if err != nil {
		return nil, fmt.Errorf("make certificate authority %q: %w", name, err)
	}
	return &CA{Pair: pair, cert: cert, signer: key}, nil
}

// Leaf makes a certificate for servers and clients, for at least one DNS name or
// IP address; its chain is the leaf alone.
func (ca *CA) Leaf(v Validity, sans ...string) (Pair, error) { return leaf(v, ca, sans) }

// SelfSigned makes a certificate that nobody else signs, for at least one DNS name or IP address.
func SelfSigned(v Validity, sans ...string) (Pair, error) { return leaf(v, nil, sans) }

func leaf(v Validity, ca *CA, sans []string) (Pair, error) {
	if len(sans) == 0 {
		return Pair{}, errors.New("make certificate: no DNS name or IP address given, want at least one")
	}
	template := &x509.Certificate{
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if len(sans[0]) <= maxCommonName {
		template.Subject.CommonName = sans[0]
	}
	for _, san := range sans {
		if ip := net.ParseIP(san); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, san)
	}
	pair, _, _, err := issue(template, v, ca)
	if err != nil {
		return Pair{}, fmt.Errorf("make certificate for %q: %w", sans[0], err)
	}
	return pair, nil
}

// maxCommonName is ub-common-name of RFC 5280.
const maxCommonName = 64

// issue makes a key and a certificate from a template, signed by ca or, when it is nil, by itself.
func issue(template *x509.Certificate, v Validity, ca *CA) (Pair, *x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return Pair{}, nil, nil, err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = v.NotBefore, v.NotAfter
	parent, signer := template, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.cert, ca.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	return encode(der, key)
}

func encode(der []byte, key *ecdsa.PrivateKey) (Pair, *x509.Certificate, crypto.Signer, error) {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, nil, nil, err
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}, cert, key, nil
}
