package envoy

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
)

// minRSABits is the shortest RSA key that Envoy serves.
const minRSABits = 2048

// checkKeyKind refuses keys that Envoy would refuse.
func checkKeyKind(name string, leaf *x509.Certificate) error {
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits {
			return faultf("key", name, "an RSA key of %d bits: use at least %d", bits, minRSABits)
		}
	case *ecdsa.PublicKey:
		if bits := key.Curve.Params().BitSize; bits < 256 {
			return faultf("key", name, "an ECDSA key of %d bits: use P-256, P-384 or P-521", bits)
		}
	default:
		return faultf("key", name, "a %s key: use RSA or ECDSA", leaf.PublicKeyAlgorithm)
	}
	return nil
}
