package pgwire_test

import (
	"bytes"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
)

// BenchmarkBackend is what following costs for each chunk of 16 KiB, by what is in it.
func BenchmarkBackend(b *testing.B) {
	const chunk = 16 << 10
	for name, m := range map[string][]byte{
		"part of a large row": message('D', string(make([]byte, 1<<28)))[:chunk],
		"rows of 8 KiB":       message('D', string(make([]byte, 8<<10-5))),
		"rows of 64 bytes":    message('D', string(make([]byte, 64-5))),
		"rows of 16 bytes":    message('D', string(make([]byte, 16-5))),
	} {
		b.Run(name, func(b *testing.B) {
			raw := bytes.Repeat(m, chunk/len(m))
			var tracker pgwire.Tracker
			tracker.Backend(script(login))
			if name == "part of a large row" {
				tracker.Backend(m[:5])
			}
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				tracker.Backend(raw)
			}
		})
	}
}

// BenchmarkTransaction is what following costs for a prepared statement: both
// directions, and the question whether the session is idle.
func BenchmarkTransaction(b *testing.B) {
	asked, said := script("B D E S"), script("2 T D C ZI")
	var tracker pgwire.Tracker
	tracker.Backend(script(login))
	b.ReportAllocs()
	for b.Loop() {
		_ = tracker.Frontend(asked)
		tracker.Backend(said)
		if !tracker.Idle() {
			b.Fatal("not idle")
		}
	}
}

func BenchmarkRead(b *testing.B) {
	raw := accepted["startup"]
	stream := bytes.NewReader(raw)
	b.ReportAllocs()
	for b.Loop() {
		stream.Reset(raw)
		if _, err := pgwire.Read(stream); err != nil {
			b.Fatal(err)
		}
	}
}
