package proxy

import (
	"io"
	"net"
	"testing"
)

// TestNoAllocations: a round trip allocates nothing in the relay, nor in what
// this test does to make one: a small one, and one that takes more than a turn.
func TestNoAllocations(t *testing.T) {
	most, sizes := 0.0, []int{100, 16 * bufferSize}
	if poolsForget {
		most, sizes = 4, sizes[:1]
	}
	for _, d := range dresses[:5] {
		t.Run(d.name, func(t *testing.T) {
			seen := 0
			observe := func(chunk []byte) Verdict { seen += len(chunk); return Verdict{} }
			s := relayed(t, d, Options{FromA: observe, FromB: observe})
			for _, size := range sizes {
				trip := roundTrip(t, s.a, s.b, make([]byte, size))
				trip()
				if n := testing.AllocsPerRun(500, trip); n > most {
					t.Errorf("%v allocations for each round trip of %d bytes", n, size)
				}
			}
		})
	}
}

// roundTrip sends block to b and back.
func roundTrip(t testing.TB, a, b net.Conn, block []byte) func() {
	answer := make([]byte, len(block))
	pass := func(from, to net.Conn) {
		if _, err := from.Write(block); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(to, answer); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		pass(a, b)
		pass(b, a)
	}
}
