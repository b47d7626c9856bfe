package forward

import (
	"io"
	"net"
	"runtime"
	"testing"
)

func dialBench(b *testing.B, address string) net.Conn {
	b.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// greet opens a tunnel.
func greet(b *testing.B, c net.Conn, head string) {
	b.Helper()
	const want = "HTTP/1.1 200 Connection established\r\n\r\n"
	got := make([]byte, len(want))
	_, err1 := io.WriteString(c, head)
	if _, err := io.ReadFull(c, got); err1 != nil || err != nil || string(got) != want {
		b.Fatalf("%q, %v", got, err)
	}
}

func openTunnel(b *testing.B, target string) net.Conn {
	b.Helper()
	c := dialBench(b, start(b).address)
	greet(b, c, request("CONNECT", target))
	return c
}

func openDirect(b *testing.B, target string) net.Conn {
	b.Helper()
	return dialBench(b, target)
}

// openCopy goes through the simplest relay that there is.
func openCopy(b *testing.B, target string) net.Conn {
	b.Helper()
	return dialBench(b, listen(b, "tcp", "127.0.0.1:0", func(c *client) {
		t, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(c.Conn, t)
		}()
		_, _ = io.Copy(t, c.Conn)
		_ = t.Close()
		<-back
	}))
}

func benchEcho(b *testing.B) string {
	b.Helper()
	return listen(b, "tcp", "127.0.0.1:0", func(c *client) { _, _ = io.Copy(c.Conn, struct{ io.Reader }{c.Conn}) })
}

// heap is what lives on the heap and on stacks.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
