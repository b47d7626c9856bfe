package proxy

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestRecords: whatever is read where, no read goes on behind the end of a record
// that began before it, and everything is read.
func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		ends := map[int]bool{0: true}
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, 17<<10), 1, 8).Draw(t, "records") {
			stream = append(append(stream, 23, 3, 3, byte(size>>8), byte(size)), make([]byte, size)...)
			ends[len(stream)] = true
		}
		reader, at := bytes.NewReader(stream), 0
		var r records
		for reader.Len() > 0 {
			p := make([]byte, rapid.IntRange(1, 40<<10).Draw(t, "room"))
			room := r.room(p)
			inside := r.left > 0
			n, _ := reader.Read(room)
			for end := at + 1; inside && end < at+n; end++ {
				if ends[end] {
					t.Fatalf("a read of %d bytes at %d passes the end of a record at %d", n, at, end)
				}
			}
			if !inside && n > glance {
				t.Fatalf("%d bytes were read where a record begins", n)
			}
			r.saw(p[:n])
			at += n
			if ends[at] != (r.left == 0 && r.have == 0) {
				t.Fatalf("at %d, a record's end: %v, but %+v", at, ends[at], r)
			}
		}
	})
}
