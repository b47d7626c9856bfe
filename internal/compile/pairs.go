package compile

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	core_v1 "k8s.io/api/core/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/model"
	"github.com/gatehouse-proxy/gatehouse/internal/verdict"
	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

const minRSABits = 2048

// pairState is what others need to know of a certificate and its key.
type pairState struct {
	// Cause completes "Secret shop/tls ..." when the pair cannot be used.
	Cause string
	// Exists tells that there is such a Secret, Unread that its data is still to come.
	Exists, Unread bool
	// Expires is when the first certificate of the chain ends, in seconds since 1970.
	Expires int64
}

// pair is a checked certificate and key.
type pair struct {
	pairState
	Chain, Key []byte
}

// checkSecret checks the pair of one Secret that some Gateway refers to.
func (b *build) checkSecret(c *derive.Ctx, secret string) (pair, bool) {
	object, presence := derive.Body(c, b.in.secrets, secret)
	switch presence {
	case derive.Absent:
		return pair{Cause: "does not exist"}, true
	case derive.Unread:
		return pair{Cause: "is being read", Exists: true, Unread: true}, true
	case derive.Present:
	}
	out := pair{Chain: object.Data[core_v1.TLSCertKey], Key: object.Data[core_v1.TLSPrivateKeyKey]}
	expires, err := checkPair(out.Chain, out.Key)
	if err != nil {
		return pair{Cause: err.Error(), Exists: true}, true
	}
	out.pairState = pairState{Exists: true, Expires: expires}
	return out, true
}

// checkPair checks that a chain and a key belong together and are of a kind that
// proxies take. It never says anything of the key's content.
func checkPair(chain, key []byte) (expires int64, err error) {
	switch {
	case len(chain) == 0:
		return 0, fmt.Errorf("has no %s", core_v1.TLSCertKey)
	case len(key) == 0:
		return 0, fmt.Errorf("has no %s", core_v1.TLSPrivateKeyKey)
	}
	parsed, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return 0, fmt.Errorf("has an unusable pair: %w", err)
	}
	if err := checkKey(parsed.Leaf); err != nil {
		return 0, err
	}
	for _, der := range parsed.Certificate {
		link, err := x509.ParseCertificate(der)
		if err != nil {
			return 0, fmt.Errorf("has an unusable chain: %w", err)
		}
		if end := link.NotAfter.Unix(); expires == 0 || end < expires {
			expires = end
		}
	}
	return expires, nil
}

func checkKey(leaf *x509.Certificate) error {
	switch public := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSABits {
			return fmt.Errorf("has an RSA key of %d bits: at least %d are needed", bits, minRSABits)
		}
	case *ecdsa.PublicKey:
		if public.Curve.Params().BitSize < 256 {
			return fmt.Errorf("has a key on curve %s: use P-256, P-384 or P-521", public.Curve.Params().Name)
		}
	default:
		return errors.New("has a key that is neither RSA nor ECDSA")
	}
	return nil
}

func stateOfPair(_ *derive.Ctx, _ string, p pair) (pairState, bool) { return p.pairState, true }

// certificateItems are the certificates of one Gateway's served listeners.
func (b *build) certificateItems(c *derive.Ctx, _ string, s served) []derive.Item[model.Certificate] {
	var items []derive.Item[model.Certificate]
	for _, id := range s.certificates() {
		items = append(items, derive.Item[model.Certificate]{Key: string(id), Value: b.certificate(c, s.ID, id)})
	}
	return items
}

// shown is a certificate of one Gateway that XBackends are shown.
func (b *build) shown(c *derive.Ctx, bucket string) (model.Certificate, bool) {
	u := derive.First(c, b.clustersByShown, bucket, 1)[0].Value
	return b.certificate(c, u.Gateway, u.Upstream.Presents), true
}

func (b *build) certificate(c *derive.Ctx, gateway model.GatewayID, id model.CertificateID) model.Certificate {
	p, _ := derive.Get(c, b.pairsBySecret, string(id))
	return model.Certificate{
		ID: id, Gateway: gateway, Chain: p.Chain, Key: p.Key,
		Origins: []model.Ref{{Collection: kindSecret, Name: string(id)}},
	}
}

// secretFinding decides over a Secret. One that no Gateway refers to is not read.
func (b *build) secretFinding(c *derive.Ctx, key string, _ *core_v1.Secret) (Finding, bool) {
	self := store.Key{Collection: kindSecret, Name: key}
	if !derive.Exists(c, b.usesBySecret, key) {
		return exclude(self, problemf(verdict.NotReferenced, "", "no listener and no XBackend that may refer to it does")), true
	}
	at, _ := derive.Get(c, b.pairStates, key)
	switch {
	case at.Unread:
		return exclude(self, problemf(verdict.NotReferenced, "data", "Secret %s %s", key, at.Cause)), true
	case at.Cause != "":
		return fail(self, problemf(verdict.UnusableCertificate, "data", "Secret %s %s", key, at.Cause)), true
	case !derive.Exists(c, b.certificatesBySecret, key):
		return exclude(self, problemf(verdict.NotReferenced, "", "nothing that refers to it serves")), true
	}
	finding := serve(self, ok(verdict.Referenced, "the certificate is served with"))
	finding.Expires = instant(at.Expires)
	return finding, true
}
