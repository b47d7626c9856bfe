package pgwire

import "encoding/binary"

const (
	headerSize = 5         // type and length
	maxMessage = 1<<31 - 1 // lengths are signed
)

// framer finds where messages begin and end in chunks that are cut anywhere.
type framer struct {
	header [headerSize]byte
	have   uint8  // bytes of the header that have come; all, within a message
	left   uint32 // bytes of the message that are still to come
}

// atBoundary tells whether the last message is complete and no other has begun.
func (f *framer) atBoundary() bool { return f.have == 0 }

// part is what a chunk holds of one message.
type part struct {
	kind    byte   // the message's type; 0 while the header is not complete
	payload []byte // what follows the header, or a piece of it
	last    bool   // the message ends with the payload
}

// next takes one part off chunk, which must not be empty. ok is false for a length that
// no message can have.
func (f *framer) next(chunk []byte) (p part, rest []byte, ok bool) {
	if f.have < headerSize {
		if chunk, ok = f.takeHeader(chunk); f.have < headerSize || !ok {
			return part{}, chunk, ok
		}
	}
	n := min(uint32(len(chunk)), f.left)
	f.left -= n
	p = part{kind: f.header[0], payload: chunk[:n], last: f.left == 0}
	if p.last {
		f.have = 0
	}
	return p, chunk[n:], true
}

// takeHeader takes what chunk has of a header; ok is false for an impossible length.
func (f *framer) takeHeader(chunk []byte) (rest []byte, ok bool) {
	if f.have == 0 && len(chunk) >= headerSize {
		f.header = [headerSize]byte(chunk)
		f.have = headerSize
		rest = chunk[headerSize:]
	} else {
		n := copy(f.header[f.have:], chunk)
		f.have += uint8(n)
		rest = chunk[n:]
	}
	if f.have < headerSize {
		return rest, true
	}
	length := binary.BigEndian.Uint32(f.header[1:])
	f.left = length - lengthSize
	return rest, length >= lengthSize && length <= maxMessage
}

// skip takes whole messages of two kinds off a chunk that begins at a boundary: most
// bytes are in rows, and nothing in those matters.
func skip(chunk []byte, kind, other byte) (rest []byte) {
	for len(chunk) >= headerSize && (chunk[0] == kind || chunk[0] == other) {
		size := uint64(binary.BigEndian.Uint32(chunk[1:])) + 1
		if size < headerSize || size > uint64(len(chunk)) {
			break
		}
		chunk = chunk[size:]
	}
	return chunk
}
