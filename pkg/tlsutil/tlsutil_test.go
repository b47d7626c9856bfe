package tlsutil

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var day = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func year() Validity { return From(day, 365*24*time.Hour) }

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// pairCase is one input of CheckPair. Its oracle is whether Envoy takes it.
type pairCase struct {
	name      string
	cert, key []byte
	want      *PairError // nil: usable
	text      string     // in the error
}

func pairCases(t *testing.T) []pairCase {
	t.Helper()
	ca := must[*CA](t)(NewCA("test authority", year()))
	a := must[Pair](t)(ca.Leaf(year(), "a.example", "127.0.0.1"))
	b := must[Pair](t)(SelfSigned(year(), "b.example"))
	old := must[Pair](t)(SelfSigned(Validity{NotBefore: day.AddDate(-3, 0, 0), NotAfter: day.AddDate(-2, 0, 0)}, "old.example"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	block := func(name, content string) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: name, Bytes: []byte(content)})
	}
	half := func(p []byte) []byte { return p[:len(p)/2] }
	return []pairCase{
		{name: "leaf", cert: a.Cert, key: a.Key},
		{name: "self-signed", cert: b.Cert, key: b.Key},
		{name: "chain", cert: join(a.Cert, ca.Cert), key: a.Key},
		{name: "expired", cert: old.Cert, key: old.Key},
		{name: "prose around blocks", cert: join([]byte("subject=a\n"), a.Cert), key: join([]byte("Bag Attributes\n"), a.Key)},
		{name: "sec 1 key", cert: a.Cert, key: sec1(t, a.Key)},
		{name: "parameters before the key", cert: a.Cert, key: join(block("EC PARAMETERS", "x"), sec1(t, a.Key))},
		{name: "no certificate", key: a.Key, want: &PairError{Part: Certificate, Problem: Missing}, text: "certificate is missing"},
		{name: "blank certificate", cert: []byte(" \n"), key: a.Key, want: &PairError{Part: Certificate, Problem: Missing}},
		{name: "no key", cert: a.Cert, want: &PairError{Part: PrivateKey, Problem: Missing}, text: "private key is missing"},
		{name: "key of another", cert: a.Cert, key: b.Key, want: &PairError{Part: PrivateKey, Problem: Mismatched}, text: "private key does not match certificate"},
		{name: "swapped", cert: a.Key, key: a.Cert, want: &PairError{Part: Certificate, Problem: Unparsable}, text: `no PEM block of type "CERTIFICATE" among ["PRIVATE KEY"]`},
		{name: "not PEM", cert: []byte("hello"), key: a.Key, want: &PairError{Part: Certificate, Problem: Unparsable}, text: "no PEM block found"},
		{name: "truncated certificate", cert: half(a.Cert), key: a.Key, want: &PairError{Part: Certificate, Problem: Unparsable, Block: 1}, text: "PEM block 1"},
		{name: "truncated second of chain", cert: join(a.Cert, half(ca.Cert)), key: a.Key, want: &PairError{Part: Certificate, Problem: Unparsable, Block: 2}, text: "certificate is unparsable: PEM block 2: its base64 is damaged or its END line is missing"},
		{name: "garbage second of chain", cert: join(a.Cert, block("CERTIFICATE", "junk")), key: a.Key, want: &PairError{Part: Certificate, Problem: Unparsable, Block: 2}},
		{name: "chain in the wrong order", cert: join(ca.Cert, a.Cert), key: a.Key, want: &PairError{Part: PrivateKey, Problem: Mismatched}},
		{name: "garbage key", cert: a.Cert, key: block("PRIVATE KEY", "junk"), want: &PairError{Part: PrivateKey, Problem: Unparsable, Block: 1}},
		{name: "truncated key", cert: a.Cert, key: half(a.Key), want: &PairError{Part: PrivateKey, Problem: Unparsable, Block: 1}},
		{name: "encrypted key", cert: a.Cert, key: block("ENCRYPTED PRIVATE KEY", "x"), want: &PairError{Part: PrivateKey, Problem: Encrypted, Block: 1}, text: "private key is encrypted"},
		custom(t, "rsa 2048", must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048)), nil, ""),
		custom(t, "rsa 1024", weakRSA(t), &PairError{Part: Certificate, Problem: Unsupported}, "RSA 1024, want RSA 2048 or more"),
		custom(t, "ecdsa p-384", must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)), nil, ""),
		custom(t, "ecdsa p-224", must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P224(), rand.Reader)), &PairError{Part: Certificate, Problem: Unsupported}, "ECDSA P-224"),
		named(t, "no name", x509.Certificate{Subject: pkix.Name{Organization: []string{"Example"}}}, &PairError{Part: Certificate, Problem: Unsupported}, "for nobody"),
		named(t, "common name", x509.Certificate{Subject: pkix.Name{CommonName: "k.example"}}, nil, ""),
		named(t, "name of nobody", x509.Certificate{EmailAddresses: []string{"k@example.com"}}, &PairError{Part: Certificate, Problem: Unsupported}, "for nobody"),
		named(t, "uri", x509.Certificate{URIs: []*url.URL{{Scheme: "spiffe", Host: "k"}}}, nil, ""),
		named(t, "address", x509.Certificate{IPAddresses: []net.IP{net.IPv6loopback}}, nil, ""),
		custom(t, "ed25519", edKey(t), nil, ""),
	}
}

func edKey(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func weakRSA(t *testing.T) crypto.Signer {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	return must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 1024))
}

func custom(t *testing.T, name string, key crypto.Signer, want *PairError, text string) pairCase {
	t.Helper()
	return signed(t, name, x509.Certificate{DNSNames: []string{"k.example"}, IPAddresses: []net.IP{net.IPv6loopback}}, key, want, text)
}

func named(t *testing.T, name string, template x509.Certificate, want *PairError, text string) pairCase {
	t.Helper()
	return signed(t, name, template, must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), want, text)
}

func signed(t *testing.T, name string, template x509.Certificate, key crypto.Signer, want *PairError, text string) pairCase {
	t.Helper()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), day, day.AddDate(1, 0, 0)
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key))
	pkcs8 := must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key))
	return pairCase{
		name: name, want: want, text: text,
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}),
	}
}

func sec1(t *testing.T, pkcs8 []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(pkcs8)
	key := must[any](t)(x509.ParsePKCS8PrivateKey(block.Bytes))
	der := must[[]byte](t)(x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey)))
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func TestCheckPair(t *testing.T) {
	for _, c := range pairCases(t) {
		t.Run(c.name, func(t *testing.T) {
			err := CheckPair(c.cert, c.key)
			if c.want == nil {
				if err != nil {
					t.Fatalf("a usable pair is refused: %v", err)
				}
				return
			}
			got, ok := errors.AsType[*PairError](err)
			if !ok || got.Part != c.want.Part || got.Problem != c.want.Problem || got.Block != c.want.Block {
				t.Fatalf("error %#v, want %#v", err, c.want)
			}
			if !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("text %q, want one line with %q", err, c.text)
			}
		})
	}
}

func TestInspect(t *testing.T) {
	ca := must[*CA](t)(NewCA("test authority", year()))
	pair := must[Pair](t)(ca.Leaf(year(), "b.example", "*.a.example", "::1"))
	got := must[Facts](t)(Inspect(append(bytes.Clone(pair.Cert), ca.Cert...)))
	if len(got.Fingerprint) != 64 {
		t.Errorf("fingerprint %q", got.Fingerprint)
	}
	got.Fingerprint = ""
	want := Facts{
		Subject: "CN=b.example", Issuer: "CN=test authority",
		Names:     []string{"*.a.example", "::1", "b.example"},
		NotBefore: day, NotAfter: day.AddDate(1, 0, 0),
		Key: "ECDSA P-256", Chain: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if alone := must[Facts](t)(Inspect(must[Pair](t)(SelfSigned(year(), "a.example")).Cert)); alone.IsCA || !alone.SelfSigned {
		t.Errorf("a certificate that signed itself: %+v", alone)
	}
	if authority := must[Facts](t)(Inspect(ca.Cert)); !authority.IsCA || !authority.SelfSigned {
		t.Errorf("authority %+v", authority)
	}
	if _, err := Inspect([]byte("x")); err == nil {
		t.Error("no error for what is no certificate")
	}
}

func TestFactsTellTime(t *testing.T) {
	f := Facts{NotBefore: day, NotAfter: day.AddDate(0, 0, 10)}
	for _, c := range []struct {
		days                    int
		early, expires, expired bool
	}{{-1, true, false, false}, {1, false, false, false}, {5, false, true, false}, {11, false, true, true}} {
		now := day.AddDate(0, 0, c.days)
		if f.NotYetValid(now) != c.early || f.Expires(now, 7*24*time.Hour) != c.expires || f.Expired(now) != c.expired {
			t.Errorf("day %d: not yet %t, expires %t, expired %t", c.days, f.NotYetValid(now), f.Expires(now, 7*24*time.Hour), f.Expired(now))
		}
	}
}

func TestLeafIsTrustedThroughItsAuthority(t *testing.T) {
	ca := must[*CA](t)(NewCA("test authority", year()))
	pair := must[Pair](t)(ca.Leaf(year(), "a.example", "127.0.0.1"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Cert)
	leaf := must[tls.Certificate](t)(pair.TLS()).Leaf
	for _, name := range []string{"a.example", "127.0.0.1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: day.AddDate(0, 1, 0)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	if _, err := SelfSigned(year()); err == nil || !strings.Contains(err.Error(), "at least one") {
		t.Errorf("no names: %v", err)
	}
	if pair, err := SelfSigned(year(), strings.Repeat("a", 63)+"."+strings.Repeat("b", 63)); err != nil || CheckPair(pair.Cert, pair.Key) != nil {
		t.Errorf("a name longer than a common name may be: %v", err)
	}
}

// FuzzCheckPair: no input panics, and no key of the input is in an error.
func FuzzCheckPair(f *testing.F) {
	pair, err := SelfSigned(year(), "a.example")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pair.Cert, pair.Key)
	f.Add(pair.Key, pair.Cert)
	f.Add(pair.Cert[:100], pair.Key[:60])
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		if err := CheckPair(cert, key); err != nil && bytes.Contains([]byte(err.Error()), []byte("MIG")) {
			t.Errorf("error holds key material: %v", err)
		}
	})
}
