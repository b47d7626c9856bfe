package proxy

import (
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// rounds are how often two ways to carry bytes take turns, so that both meet
// the same neighbours.
const rounds = 15

// copied carries bytes in two goroutines that know nothing of each other.
func copied(t testing.TB, pass func(to, from *net.TCPConn)) *session {
	rawA, inA := connect(t)
	inB, rawB := connect(t)
	go pass(inA, inB)
	go pass(inB, inA)
	return &session{a: rawA, b: rawB, rawA: rawA, rawB: rawB}
}

// splice is io.Copy, which uses splice(2).
func splice(to, from *net.TCPConn) {
	_, _ = io.Copy(to, from)
	_ = to.CloseWrite()
}

// hold copies through a buffer that it keeps.
func hold(to, from *net.TCPConn) {
	_, _ = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, bufferSize))
	_ = to.CloseWrite()
}

// direct is a connection without anything between.
func direct(t testing.TB) *session {
	rawA, rawB := connect(t)
	return &session{a: rawA, b: rawB, rawA: rawA, rawB: rawB}
}

// BenchmarkRoundTrip says what a small question and its answer take, by the
// median of interleaved rounds.
func BenchmarkRoundTrip(b *testing.B) {
	block := make([]byte, 100)
	compare(b, func(s *session) { roundTrip(b, s.a, s.b, block)() }, 300)
}

// BenchmarkBulk says what 4 MiB take one way.
func BenchmarkBulk(b *testing.B) {
	block := make([]byte, 1<<20)
	compare(b, func(s *session) {
		done := make(chan error, 1)
		go func() {
			_, err := io.CopyN(io.Discard, s.b, 4<<20)
			done <- err
		}()
		for range 4 {
			if _, err := s.a.Write(block); err != nil {
				b.Fatal(err)
			}
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}, 10)
}

// compare reports the median time of one act over a direct connection, the
// relay with observers, and io.Copy, and the relay's ratio to io.Copy.
func compare(b *testing.B, act func(*session), times int) {
	seen := 0
	observe := func(chunk []byte) Verdict { seen += len(chunk); return Verdict{} }
	ways := []struct {
		name string
		*session
		took []float64
	}{
		{name: "direct", session: direct(b)},
		{name: "relay", session: relayed(b, dresses[0], Options{FromA: observe, FromB: observe})},
		{name: "io.Copy", session: copied(b, splice)},
		{name: "held-buffer", session: copied(b, hold)},
		{name: "relay-tls", session: relayed(b, dresses[1], Options{FromA: observe, FromB: observe})},
	}
	for _, w := range ways {
		for _, c := range []net.Conn{w.rawA, w.rawB} {
			_ = c.SetDeadline(time.Time{})
		}
		act(w.session)
	}
	for b.Loop() {
		for range rounds {
			for i := range ways {
				begin := time.Now()
				for range times {
					act(ways[i].session)
				}
				ways[i].took = append(ways[i].took, float64(time.Since(begin).Nanoseconds())/float64(times))
			}
		}
	}
	for i := range ways {
		slices.Sort(ways[i].took)
		b.ReportMetric(ways[i].took[len(ways[i].took)/2], ways[i].name+"-ns")
	}
	b.ReportMetric(ways[1].took[len(ways[1].took)/2]/ways[2].took[len(ways[2].took)/2], "relay/io.Copy")
	b.ReportMetric(0, "ns/op")
}
