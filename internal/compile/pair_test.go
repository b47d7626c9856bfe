package compile

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"
)

// makePair makes a self-signed certificate and its key, in PEM.
func makePair(t testing.TB, key crypto.Signer, notAfter time.Time, names ...string) (chain, private []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names,
		NotBefore: time.Unix(0, 0), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// testPairs are data of Secrets: usable, usable and other, mixed up, and empty.
func testPairs(t testing.TB) map[string]string {
	t.Helper()
	end := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	chain, key := makePair(t, newKey(t), end, "a.example")
	otherChain, otherKey := makePair(t, newKey(t), end.AddDate(1, 0, 0), "b.example")
	return map[string]string{
		"good": secretData(chain, key), "other": secretData(otherChain, otherKey),
		"mixed": secretData(chain, otherKey), "none": "{}",
	}
}

func secretData(chain, key []byte) string {
	return fmt.Sprintf("{tls.crt: %s, tls.key: %s}", base64.StdEncoding.EncodeToString(chain), base64.StdEncoding.EncodeToString(key))
}
