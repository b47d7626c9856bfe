package compile

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
)

var inTenYears = time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCheckPair(t *testing.T) {
	ecKey := newKey(t)
	good, goodKey := makePair(t, ecKey, inTenYears)
	expired, expiredKey := makePair(t, ecKey, time.Unix(1000, 0))
	_, otherKey := makePair(t, newKey(t), inTenYears)
	small, smallKey := makePair(t, rsaKey(t, 1024), inTenYears)
	large, largeKey := makePair(t, rsaKey(t, 2048), inTenYears)
	p224, p224Key := makePair(t, curveKey(t, elliptic.P224()), inTenYears)
	ed, edKey := makePair(t, edKey(t), inTenYears)
	for _, c := range []struct {
		name       string
		chain, key []byte
		expires    time.Time
		err        string
	}{
		{"ECDSA", good, goodKey, inTenYears, ""},
		{"RSA", large, largeKey, inTenYears, ""},
		{"expired is no error", expired, expiredKey, time.Unix(1000, 0), ""},
		{"the first of a chain to end counts", append(append([]byte{}, good...), expired...), goodKey, time.Unix(1000, 0), ""},
		{"no certificate", nil, goodKey, time.Time{}, "has no tls.crt"},
		{"no key", good, nil, time.Time{}, "has no tls.key"},
		{"mixed up", good, otherKey, time.Time{}, "has an unusable pair: tls: private key does not match public key"},
		{"not PEM", []byte("x"), goodKey, time.Time{}, "has an unusable pair: tls: failed to find any PEM data in certificate input"},
		{"a short RSA key", small, smallKey, time.Time{}, "has an RSA key of 1024 bits: at least 2048 are needed"},
		{"a small curve", p224, p224Key, time.Time{}, "has a key on curve P-224: use P-256, P-384 or P-521"},
		{"Ed25519", ed, edKey, time.Time{}, "has a key that is neither RSA nor ECDSA"},
	} {
		t.Run(c.name, func(t *testing.T) {
			expires, err := checkPair(c.chain, c.key)
			if err != nil || c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if !instant(expires).Equal(c.expires) {
				t.Errorf("expires %v, want %v", instant(expires), c.expires)
			}
		})
	}
}

func rsaKey(t *testing.T, bits int) crypto.Signer {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func curveKey(t *testing.T, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func edKey(t *testing.T) crypto.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Each certificate of a listener has its own fate.
func TestCertificatesOfAListener(t *testing.T) {
	pairs := testPairs(t)
	secret := func(name, pair string) string {
		namespace, name, _ := strings.Cut(name, "/")
		return "kind: Secret\nmetadata: {name: " + name + ", namespace: " + namespace + "}\ndata: " + pairs[pair]
	}
	const grant = "kind: ReferenceGrant\nmetadata: {name: g, namespace: other}\nspec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}], to: [{group: '', kind: Secret}]}"
	for _, c := range []struct {
		name    string
		refs    string
		objects []string
		serves  []model.CertificateID
		want    string // ResolvedRefs, and Programmed where it is known
	}{
		{"one", "{name: a}", []string{secret("shop/a", "good")}, []model.CertificateID{"shop/a"}, "ResolvedRefs=True ResolvedRefs"},
		{"two", "{name: b}, {name: a}", []string{secret("shop/a", "good"), secret("shop/b", "other")}, []model.CertificateID{"shop/b", "shop/a"}, "ResolvedRefs=True ResolvedRefs"},
		{"one of two is missing", "{name: b}, {name: a}", []string{secret("shop/a", "good")}, []model.CertificateID{"shop/a"}, "ResolvedRefs=False InvalidCertificateRef"},
		{"one of two is mixed up", "{name: a}, {name: b}", []string{secret("shop/a", "good"), secret("shop/b", "mixed")}, []model.CertificateID{"shop/a"}, "ResolvedRefs=False InvalidCertificateRef"},
		{"none is there", "{name: a}", nil, nil, "ResolvedRefs=False InvalidCertificateRef, Programmed=False Invalid"},
		{"no Secret", "{name: a, kind: ConfigMap}", nil, nil, "ResolvedRefs=False InvalidCertificateRef, Programmed=False Invalid"},
		{"across namespaces without a grant", "{name: a, namespace: other}", []string{secret("other/a", "good")}, nil, "ResolvedRefs=False RefNotPermitted, Programmed=False Invalid"},
		{"across namespaces with a grant", "{name: a, namespace: other}", []string{secret("other/a", "good"), grant}, []model.CertificateID{"other/a"}, "ResolvedRefs=True ResolvedRefs"},
		{"granted and missing", "{name: a, namespace: other}", []string{grant}, nil, "ResolvedRefs=False InvalidCertificateRef, Programmed=False Invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := with(t, append(c.objects, classYAML, gatewayYAML("{name: tls, port: 443, protocol: HTTPS, tls: {certificateRefs: ["+c.refs+"]}}"))...)
			l, _ := derive.Lookup(w.state, w.out.Model.Listeners, "shop/edge/default/443")
			var serves []model.CertificateID
			for _, chain := range l.Chains {
				serves = append(serves, chain.Certificates...)
			}
			equal(t, serves, c.serves)
			f := w.finding("Gateway", "shop/edge")
			equal(t, conditionText(f.Status.Listeners[0].Conditions), "Accepted=True Accepted, Conflicted=False NoConflicts, "+c.want)
			for _, id := range c.serves {
				if _, ok := derive.Lookup(w.state, w.out.Model.Certificates, "shop/edge|"+string(id)); !ok {
					t.Errorf("certificate %s is not in the model", id)
				}
			}
		})
	}
}

func TestSecretSaysWhatBecameOfIt(t *testing.T) {
	pairs := testPairs(t)
	w := with(t, classYAML, gatewayYAML("{name: tls, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: a}, {name: b}]}}"),
		"kind: Secret\nmetadata: {name: a, namespace: shop}\ndata: "+pairs["good"],
		"kind: Secret\nmetadata: {name: b, namespace: shop}\ndata: "+pairs["mixed"],
		"kind: Secret\nmetadata: {name: c, namespace: shop}\ndata: "+pairs["mixed"])

	a, b, c := w.finding("Secret", "shop/a"), w.finding("Secret", "shop/b"), w.finding("Secret", "shop/c")
	if !a.Serves || !a.Expires.Equal(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("a serves %v, expires %v", a.Serves, a.Expires)
	}
	if !b.Failed || !hasStep(b, verdict.WasRejected, verdict.UnusableCertificate) {
		t.Errorf("b: failed %v, %v", b.Failed, b.Steps)
	}
	if c.Failed || !hasStep(c, verdict.WasExcluded, verdict.NotReferenced) {
		t.Errorf("c: failed %v, %v", c.Failed, c.Steps)
	}
	if end := w.finding("Gateway", "shop/edge").Expires; !end.Equal(a.Expires) {
		t.Errorf("the Gateway's first certificate expires %v, want %v", end, a.Expires)
	}
}
