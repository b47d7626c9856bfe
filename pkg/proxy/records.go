package proxy

import "encoding/binary"

// records finds where TLS records begin in a stream (RFC 8446, 5.1), so that nothing
// is read beyond the end of a large one. crypto/tls keeps for the life of a connection
// the buffer that it reads into, and makes it twice as large where a large record does
// not begin with an empty one.
type records struct {
	header [5]byte // type, version, length
	have   int     // bytes of the header that have come
	left   int     // bytes of the record that are still to come
}

// glance is how much is read where a record begins: a small one at once.
const glance = 512

// room is as much of p as may be read into.
func (r *records) room(p []byte) []byte {
	if r.left > 0 {
		return p[:min(len(p), r.left)]
	}
	return p[:min(len(p), glance)]
}

// saw follows what was read.
func (r *records) saw(b []byte) {
	for len(b) > 0 {
		n := min(r.left, len(b))
		r.left -= n
		b = b[n:]
		if r.left > 0 {
			return
		}
		n = copy(r.header[r.have:], b)
		b = b[n:]
		if r.have += n; r.have == len(r.header) {
			r.have, r.left = 0, int(binary.BigEndian.Uint16(r.header[3:]))
		}
	}
}
