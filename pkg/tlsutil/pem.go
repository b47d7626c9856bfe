package tlsutil

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"iter"
)

const certificateBlock = "CERTIFICATE"

// parseChain parses every CERTIFICATE block of data, leaf first. Blocks count
// from 1 over all PEM blocks, so that the number in an error is what a reader
// of the file counts.
func parseChain(data []byte) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for n, block := range blocks(data) {
		if block == nil {
			return nil, &PairError{Part: Certificate, Problem: Unparsable, Block: n, Err: errDamaged}
		}
		if block.Type != certificateBlock {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, &PairError{Part: Certificate, Problem: Unparsable, Block: n, Err: err}
		}
		chain = append(chain, cert)
	}
	if len(chain) == 0 {
		return nil, without(data, Certificate, certificateBlock)
	}
	return chain, nil
}

var (
	begin      = []byte("-----BEGIN ")
	errDamaged = errors.New("its base64 is damaged or its END line is missing")
)

// blocks yields the PEM blocks of data by position, from 1; nil for one that
// begins and is not well-formed, which pem.Decode alone would pass over.
func blocks(data []byte) iter.Seq2[int, *pem.Block] {
	return func(yield func(int, *pem.Block) bool) {
		parts := bytes.Split(data, begin)
		for n, part := range parts[1:] {
			block, _ := pem.Decode(append(bytes.Clone(begin), part...))
			if !yield(n+1, block) {
				return
			}
		}
	}
}

// without is the error for data that has no block of the wanted type; it names
// block types only.
func without(data []byte, part Part, want string) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &PairError{Part: part, Problem: Missing}
	}
	var types []string
	for _, block := range blocks(data) {
		types = append(types, block.Type)
	}
	cause := fmt.Errorf("no PEM block found, want one of type %q", want)
	if len(types) > 0 {
		cause = fmt.Errorf("no PEM block of type %q among %q", want, types)
	}
	return &PairError{Part: part, Problem: Unparsable, Err: cause}
}
