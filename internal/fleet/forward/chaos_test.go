package forward

import (
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestGoodClientsAmongBadOnes: whatever others send, and wherever they stop, good clients
// from another address are served, and nobody is left in the end (see TestMain).
func TestGoodClientsAmongBadOnes(t *testing.T) {
	withTLS, config := secured(t)
	for name, change := range map[string][]func(*Config){"in clear": {bob}, "by TLS": {bob, withTLS}} {
		t.Run(name, func(t *testing.T) {
			p := start(t, append(change, func(c *Config) { c.Limits.Startup = patience })...)
			target := echo(t)
			open := func(from string) func() (net.Conn, error) {
				d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
				if p.TLS != nil {
					return func() (net.Conn, error) { return tls.DialWithDialer(d, "tcp", p.address, config) }
				}
				return func() (net.Conn, error) { return d.Dial("tcp", p.address) }
			}
			var bad sync.WaitGroup
			stop := make(chan struct{})
			for i := range 8 {
				bad.Go(func() { misbehave(rand.New(rand.NewPCG(1, uint64(i))), open("127.0.0.2"), target, stop) })
			}
			for range 15 {
				c, err := open("127.0.0.3")()
				if err != nil {
					t.Fatal(err)
				}
				good := talk(t, c).send(request("CONNECT", target, bobs))
				if resp, body := good.answer(http.MethodConnect); resp.StatusCode != 200 {
					t.Fatalf("%s %q", resp.Status, body)
				}
				good.send("hello").expect("hello")
				_ = good.Close()
			}
			eventually(t, "a bad one is refused", func() bool { return len(p.Counts().Refusals) > 0 })
			close(stop)
			bad.Wait()
		})
	}
}

// misbehave sends parts of good and bad messages, and leaves at any time.
func misbehave(r *rand.Rand, open func() (net.Conn, error), target string, stop <-chan struct{}) {
	messages := []string{
		request("CONNECT", target, bobs), request("CONNECT", target), request("GET", "http://"+target+"/", bobs), request("POST", "http://"+target+"/", bobs, "Content-Length: 9\r\n") + "abc",
		"\x05\x01\x02\x01\x03bob\x06secret\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", "\x05\x01\x00", "\x04\x01", strings.Repeat("\x00", 100), "GET / HTTP/1.1\r\n\r\n",
		request("GET", "http://"+target+"/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), "\x16\x03\x01\x02\x00\x01", strings.Repeat("a", maxHead+1),
	}
	for {
		select {
		case <-stop:
			return
		default:
		}
		c, err := open()
		if err != nil {
			continue
		}
		for range 1 + r.IntN(3) {
			m := messages[r.IntN(len(messages))]
			_, _ = io.WriteString(c, m[:r.IntN(len(m)+1)])
		}
		if r.IntN(2) == 0 {
			_ = c.SetReadDeadline(time.Now().Add(time.Duration(r.IntN(20)) * time.Millisecond))
			_, _ = io.CopyN(io.Discard, c, int64(r.IntN(100)))
		}
		_ = c.Close()
	}
}
