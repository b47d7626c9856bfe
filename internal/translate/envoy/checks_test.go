package envoy

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"

	envoy_route_v3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
	"github.com/gatehouse-proxy/gatehouse/test/envoytest"
)

// selfSigned makes a certificate of a key for a.example.
func selfSigned(t *testing.T, key crypto.Signer) (chain, private []byte) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: valid().NotBefore, NotAfter: valid().NotAfter, DNSNames: []string{"a.example"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// TestKeyKinds: the keys that pass are those that Envoy serves.
func TestKeyKinds(t *testing.T) {
	must := func(key crypto.Signer, err error) crypto.Signer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	onCurve := func(c elliptic.Curve) crypto.Signer { return must(ecdsa.GenerateKey(c, rand.Reader)) }
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	for name, c := range map[string]struct {
		key  crypto.Signer
		good bool
	}{
		"ECDSA P-256": {onCurve(elliptic.P256()), true},
		"ECDSA P-384": {onCurve(elliptic.P384()), true},
		"ECDSA P-521": {onCurve(elliptic.P521()), true},
		"ECDSA P-224": {onCurve(elliptic.P224()), false},
		"RSA 2048":    {must(rsa.GenerateKey(rand.Reader, 2048)), true},
		"RSA 1024":    {must(rsa.GenerateKey(rand.Reader, 1024)), false},
		"Ed25519":     {must(edwards, err), true},
	} {
		t.Run(name, func(t *testing.T) {
			chain, private := selfSigned(t, c.key)
			got := checkCertificate(model.Certificate{ID: "shop/a", Gateway: edge, Chain: chain, Key: private})
			if (got == nil) != c.good {
				t.Errorf("we say %v", got)
			}
			if err := servesKey(t, chain, private); (err == nil) != c.good {
				t.Errorf("Envoy says %v", err)
			}
		})
	}
}

// servesKey makes a handshake with an Envoy that has a pair, checked by us or not.
func servesKey(t *testing.T, chain, key []byte) error {
	t.Helper()
	w := secure(newAuthority(t), map[string]string{"a.example": "a"}, backends(t, "a"))
	got := translate(t, w)
	for i, r := range got.resources {
		if r.Type == xdsserve.Secret {
			got.resources[i].Body = encode(t, secret(string(w.Certificates[0].ID), chain, key))
		}
	}
	static := envoytest.Static(t, string(edge), true, got.resources...)
	if err := envoytest.Check(t, static); err != nil {
		return err
	}
	f := traffic{t, envoytest.Start(t, static)}
	_, err := tryAt(t.Context(), f.envoy.Address(tlsPort), &tls.Config{InsecureSkipVerify: true, ServerName: "a.example"}, question{Host: "a.example"})
	return err
}

func encode(t *testing.T, m proto.Message) []byte {
	t.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// acceptedRegexes are near the limits of what passes.
var acceptedRegexes = []string{
	`a`, `.*`, `/(a|b)/[^/]+`, `a{1000}`, `\pL{1000}`, `.{1000}`, `(.{30}){30}`, `(a{30}){33}`, `[a-zà-ü]{1000}`,
	`(\pL|\pN|.){300}`, `[^a]{500}`, `(.*,){50}`, `(?i)\pL{300}`, `\PL{300}`, `(?P<name>x)\b\d+$`, `(?:\pL\pN){400}`,
	"(?i)" + strings.Repeat("straße", 200), "(?i)" + strings.Repeat("kKſs", 250), `(?:` + strings.Repeat("x", 300) + `){100}`,
	`(?i)` + strings.Repeat("[a-z]?", 400), `^$`, `\Qa.b\E`, `(?s).+`, strings.Repeat("(", 400) + strings.Repeat(")", 400),
	strings.Repeat("a|", 900) + "b", `x{0,1000}`, `x{5,}`, `((((a{2}){3}){4}){5}){8}`,
}

// TestRegexLimits: Envoy takes every regular expression that passes, with the
// limit that the proxies' bootstrap sets.
func TestRegexLimits(t *testing.T) {
	var routes []model.Route
	for i, p := range acceptedRegexes {
		routes = append(routes, model.Route{Name: fmt.Sprint(i), Match: pattern(p), Status: 200})
	}
	got := translate(t, plain([]model.VirtualHost{{Domain: "*", Routes: routes}}, nil))
	for _, f := range got.failures {
		t.Errorf("%s %s", f.Field, f.Message)
	}
	if err := envoytest.Check(t, envoytest.Static(t, string(edge), true, got.resources...)); err != nil {
		t.Error(err)
	}
}

func TestRefusedRegexes(t *testing.T) {
	for _, p := range []string{
		"", "(", "a**", `\8`, `(?=a)`, `a{1001}`, `(a{100}){100}`, `[b-a]`, "\xff", `(?<!a)`, `\pX`,
		`(?:` + strings.Repeat("x", 400) + `){100}`, `(?:\pL\pL\pL\pL\pL){500}`,
	} {
		if err := checkRegex("f", p); err == nil {
			t.Errorf("%q passes", p)
		}
	}
}

// TestWrongRegexInEnvoy: what we refuse for its size, Envoy would refuse or
// compile at a cost that we do not want; what we refuse for its syntax, it refuses.
func TestWrongRegexInEnvoy(t *testing.T) {
	got := translate(t, plain([]model.VirtualHost{{Domain: "*", Routes: []model.Route{{Name: "r", Match: prefix("/"), Status: 200}}}}, nil))
	for i, r := range got.resources {
		if r.Type == xdsserve.Routes {
			table := new(envoy_route_v3.RouteConfiguration)
			if err := proto.Unmarshal(r.Body, table); err != nil {
				t.Fatal(err)
			}
			table.VirtualHosts[0].Routes[0].Match.PathSpecifier = &envoy_route_v3.RouteMatch_SafeRegex{SafeRegex: regex(`(?:` + strings.Repeat("x", 400) + `){100}`)}
			got.resources[i].Body = encode(t, table)
		}
	}
	if err := envoytest.Check(t, envoytest.Static(t, string(edge), true, got.resources...)); err == nil {
		t.Error("Envoy takes a regular expression above the limit")
	}
}
