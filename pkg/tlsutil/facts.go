package tlsutil

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Facts are what a certificate says, for people and for verdicts.
type Facts struct {
	// Subject and Issuer are distinguished names as RFC 2253 writes them.
	Subject, Issuer string
	// Names are the DNS names and IP addresses it is for, sorted.
	Names               []string
	NotBefore, NotAfter time.Time
	// Key is the public key's algorithm and size, such as "ECDSA P-256" or "RSA 2048".
	Key string
	// Fingerprint is the SHA-256 of the DER form in lower-case hex.
	Fingerprint string
	// IsCA tells that it may sign others; SelfSigned that it signed itself.
	IsCA, SelfSigned bool
	// Chain is the number of certificates, the leaf included.
	Chain int
}

// Inspect returns the facts of the leaf, which is the first certificate of a PEM
// chain. The error is a *PairError.
func Inspect(certPEM []byte) (Facts, error) {
	chain, err := parseChain(certPEM)
	if err != nil {
		return Facts{}, err
	}
	leaf := chain[0]
	sum := sha256.Sum256(leaf.Raw)
	return Facts{
		Subject: leaf.Subject.String(), Issuer: leaf.Issuer.String(),
		Names:     names(leaf),
		NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		Key:         keyName(leaf),
		Fingerprint: hex.EncodeToString(sum[:]),
		IsCA:        leaf.IsCA,
		SelfSigned:  selfSigned(leaf),
		Chain:       len(chain),
	}, nil
}

// selfSigned asks for the signature alone: CheckSignatureFrom wants an authority too,
// which a certificate that a server made for itself is not.
func selfSigned(leaf *x509.Certificate) bool {
	return bytes.Equal(leaf.RawSubject, leaf.RawIssuer) &&
		leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil
}

func names(leaf *x509.Certificate) []string {
	out := slices.Clone(leaf.DNSNames)
	for _, ip := range leaf.IPAddresses {
		out = append(out, ip.String())
	}
	slices.Sort(out)
	return out
}

func keyName(cert *x509.Certificate) string {
	switch key := cert.PublicKey.(type) {
	case *ecdsa.PublicKey:
		return "ECDSA " + key.Curve.Params().Name
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", key.N.BitLen())
	}
	return cert.PublicKeyAlgorithm.String()
}

// Expired reports whether the certificate is over at now.
func (f Facts) Expired(now time.Time) bool { return now.After(f.NotAfter) }

// NotYetValid reports whether the certificate begins after now.
func (f Facts) NotYetValid(now time.Time) bool { return now.Before(f.NotBefore) }

// Expires reports whether the certificate is over within d from now, or already is.
func (f Facts) Expires(now time.Time, within time.Duration) bool {
	return now.Add(within).After(f.NotAfter)
}
