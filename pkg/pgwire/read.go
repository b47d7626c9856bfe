package pgwire

import (
	"errors"
	"fmt"
	"io"
)

// firstRoom is how much Read allocates before the first byte has come: most packets
// need no more.
const firstRoom = 256

// Read takes exactly one packet from r and not a byte after it, so that r can be handed
// on to TLS or a copy. It allocates by what has come, whatever length was announced.
//
// It returns io.EOF if r ends before the first byte, io.ErrUnexpectedEOF, wrapped, if it
// ends later, r's other errors wrapped, and those of Decode. After an error the stream
// has no packet boundary left.
func Read(r io.Reader) (Packet, error) {
	raw := make([]byte, lengthSize, firstRoom)
	if n, err := io.ReadFull(r, raw); err != nil {
		return Packet{}, readError(n, lengthSize, err)
	}
	length, err := packetLength(raw)
	if err != nil {
		return Packet{}, err
	}
	for len(raw) < length {
		raw, err = readMore(r, raw, length)
		if err != nil {
			return Packet{}, err
		}
	}
	return decodeBody(raw)
}

// readMore fills what room raw has, or doubles it.
func readMore(r io.Reader, raw []byte, length int) ([]byte, error) {
	if len(raw) == cap(raw) {
		larger := make([]byte, len(raw), min(2*len(raw), length))
		copy(larger, raw)
		raw = larger
	}
	end := min(cap(raw), length)
	n, err := io.ReadFull(r, raw[len(raw):end])
	if err != nil {
		return nil, readError(len(raw)+n, length, err)
	}
	return raw[:end], nil
}

func readError(have, want int, err error) error {
	if errors.Is(err, io.EOF) && have == 0 {
		return io.EOF
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("startup packet: %d of %d bytes: %w", have, want, err)
}
