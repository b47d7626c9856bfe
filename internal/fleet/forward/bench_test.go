package forward

import (
	"io"
	"net"
	"net/http"
	"testing"
)

// BenchmarkTunnel carries 1 MiB there and back, through a tunnel of CONNECT, and
// through a loop of io.Copy each way, which has no limits, counters or ends.
func BenchmarkTunnel(b *testing.B) {
	for name, open := range map[string]func(b *testing.B, target string) net.Conn{"forward": openTunnel, "io.Copy": openCopy, "direct": openDirect} {
		b.Run(name, func(b *testing.B) {
			c := open(b, benchEcho(b))
			defer func() { _ = c.Close() }()
			piece := make([]byte, 1<<20)
			b.SetBytes(2 << 20)
			for b.Loop() {
				go func() { _, _ = c.Write(piece) }()
				if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPingPong sends a byte there and back.
func BenchmarkPingPong(b *testing.B) {
	for name, open := range map[string]func(b *testing.B, target string) net.Conn{"forward": openTunnel, "io.Copy": openCopy, "direct": openDirect} {
		b.Run(name, func(b *testing.B) {
			c := open(b, benchEcho(b))
			defer func() { _ = c.Close() }()
			piece := make([]byte, 1)
			for b.Loop() {
				if _, err := c.Write(piece); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, piece); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkConnect opens a tunnel, with a password, and closes it.
func BenchmarkConnect(b *testing.B) {
	p, target := start(b, bob), benchEcho(b)
	for b.Loop() {
		c := dialBench(b, p.address)
		greet(b, c, request("CONNECT", target, bobs))
		_ = c.Close()
	}
}

// BenchmarkGET asks for 1 KiB over a connection that stays.
func BenchmarkGET(b *testing.B) {
	target := serve(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<10)) })
	client := through(b, "http://bob:secret@"+start(b, bob).address)
	for b.Loop() {
		resp, err := client.Get(target)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

// BenchmarkIdleTunnel measures the memory of a tunnel that carries nothing, with its
// client and its target, which are in this process too.
func BenchmarkIdleTunnel(b *testing.B) {
	target := listen(b, "tcp", "127.0.0.1:0", func(c *client) { _, _ = c.Read(make([]byte, 1)) })
	p := start(b)
	before := heap()
	for b.Loop() {
		c := dialBench(b, p.address)
		greet(b, c, request("CONNECT", target))
		b.Cleanup(func() { _ = c.Close() })
	}
	b.ReportMetric(float64(heap()-before)/float64(b.N), "B/tunnel")
}
