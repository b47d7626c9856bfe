package tlsutil

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Part is one half of a pair.
type Part string

// The parts of a pair.
const (
	Certificate Part = "certificate"
	PrivateKey  Part = "private key"
)

// Problem is what makes a pair unusable.
type Problem string

// The problems of a pair.
const (
	// Missing: the part is empty.
	Missing Problem = "missing"
	// Unparsable: the part is there, and is not PEM of the wanted kind.
	Unparsable Problem = "unparsable"
	// Encrypted: the private key has a pass phrase.
	Encrypted Problem = "encrypted"
	// Unsupported: the key's algorithm or size is not one that TLS servers take, or
	// the certificate has no name.
	Unsupported Problem = "unsupported"
	// Mismatched: both parts parse, and the key is not the certificate's.
	Mismatched Problem = "mismatched"
)

// PairError says which part of a pair is unusable and why. Its text never holds key material.
type PairError struct {
	Part    Part
	Problem Problem
	// Block is the position of the PEM block at fault, from 1; 0 if none is.
	Block int
	// Err is the cause, if there is one.
	Err error
}

func (e *PairError) Error() string {
	if e.Problem == Mismatched {
		return "private key does not match certificate"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s is %s", e.Part, e.Problem)
	if e.Block > 0 {
		fmt.Fprintf(&text, ": PEM block %d", e.Block)
	}
	if e.Err != nil {
		fmt.Fprintf(&text, ": %v", e.Err)
	}
	return text.String()
}

func (e *PairError) Unwrap() error { return e.Err }

// CheckPair reports why a PEM certificate chain, leaf first, and a PEM private
// key cannot be served as a pair: a *PairError, or nil. Expiry is no reason; see Facts.
func CheckPair(certPEM, keyPEM []byte) error {
	chain, err := parseChain(certPEM)
	if err != nil {
		return err
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return err
	}
	return match(chain[0], key)
}

func match(leaf *x509.Certificate, key crypto.Signer) error {
	if !supported(leaf.PublicKey) {
		return &PairError{Part: Certificate, Problem: Unsupported, Err: fmt.Errorf("key is %s, want RSA 2048 or more, ECDSA P-256, P-384 or P-521, or Ed25519", keyName(leaf))}
	}
	if nameless(leaf) {
		return &PairError{Part: Certificate, Problem: Unsupported, Err: errNameless}
	}
	public, ok := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(key.Public()) {
		return &PairError{Part: PrivateKey, Problem: Mismatched}
	}
	return nil
}

var errNameless = errors.New("it is for nobody: want a DNS name, an IP address, a URI or a common name")

// nameless reports whether nobody could say with the certificate who they are.
func nameless(leaf *x509.Certificate) bool {
	return leaf.Subject.CommonName == "" && len(names(leaf))+len(leaf.URIs) == 0
}

// supported reports whether TLS servers in use take such a key.
func supported(public any) bool {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= 2048
	case *ecdsa.PublicKey:
		return key.Curve != elliptic.P224()
	case ed25519.PublicKey:
		return true
	}
	return false
}

// parseKey parses the first private key block of data; others, such as EC PARAMETERS, are skipped.
func parseKey(data []byte) (crypto.Signer, error) {
	for n, block := range blocks(data) {
		switch {
		case block == nil:
			return nil, &PairError{Part: PrivateKey, Problem: Unparsable, Block: n, Err: errDamaged}
		case !strings.HasSuffix(block.Type, privateKeyBlock):
			continue
		case encrypted(block):
			return nil, &PairError{Part: PrivateKey, Problem: Encrypted, Block: n}
		}
		key, err := parseKeyBytes(block.Bytes)
		if err != nil {
			return nil, &PairError{Part: PrivateKey, Problem: keyProblem(err), Block: n, Err: err}
		}
		return key, nil
	}
	return nil, without(data, PrivateKey, privateKeyBlock)
}

const privateKeyBlock = "PRIVATE KEY"

func encrypted(block *pem.Block) bool {
	return block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED")
}

var errAlgorithm = errors.New("want RSA, ECDSA or Ed25519")

func keyProblem(err error) Problem {
	if errors.Is(err, errAlgorithm) {
		return Unsupported
	}
	return Unparsable
}

// parseKeyBytes tries the three encodings in use. Their errors may quote the
// input's structure but not its bytes; the last one is the most telling.
func parseKeyBytes(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("neither PKCS #1, SEC 1 nor PKCS #8")
	}
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return key, nil
	case *ecdsa.PrivateKey:
		return key, nil
	case ed25519.PrivateKey:
		return key, nil
	}
	return nil, errAlgorithm
}
