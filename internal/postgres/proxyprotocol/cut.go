package proxyprotocol

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/pires/go-proxyproto"
)

// Lengths of headers, in bytes.
const (
	shortest  = len("PROXY UNKNOWN\r\n") // of version 1; those of version 2 are longer
	longestV1 = 107
	fixedV2   = 16 // signature, command, family, and the length of the rest
)

// MaxHeader is the longest header of version 2 that is taken, in bytes: room for
// addresses and a certificate among the extensions.
const MaxHeader = fixedV2 + 4096

// cut takes the bytes of one header from r and none after them. How headers end is all
// that it knows of them.
func cut(r io.Reader) ([]byte, error) {
	raw := make([]byte, shortest, longestV1)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(raw, proxyproto.SIGV2):
		return cutV2(r, raw)
	case bytes.HasPrefix(raw, proxyproto.SIGV1):
		return cutV1(r, raw)
	}
	return nil, &RefusedError{"a header that is of no known version"}
}

// cutV1 reads up to the end of the line.
func cutV1(r io.Reader, raw []byte) ([]byte, error) {
	if bytes.IndexByte(raw[:len(raw)-1], '\n') >= 0 {
		return nil, &RefusedError{"a header of version 1 that is too short"}
	}
	for raw[len(raw)-1] != '\n' {
		if len(raw) == longestV1 {
			return nil, &RefusedError{"a header of version 1 without an end in 107 bytes"}
		}
		raw = raw[:len(raw)+1]
		if _, err := io.ReadFull(r, raw[len(raw)-1:]); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// cutV2 reads as much as the header announces, within bounds.
func cutV2(r io.Reader, raw []byte) ([]byte, error) {
	raw = raw[:fixedV2]
	if _, err := io.ReadFull(r, raw[shortest:]); err != nil {
		return nil, err
	}
	rest := int(binary.BigEndian.Uint16(raw[fixedV2-2:]))
	if fixedV2+rest > MaxHeader {
		return nil, &RefusedError{"a header of version 2 that is longer than 4112 bytes"}
	}
	whole := append(make([]byte, 0, fixedV2+rest), raw...)[:fixedV2+rest]
	_, err := io.ReadFull(r, whole[fixedV2:])
	return whole, err
}
