package health

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// liar is one connection of a proxy that lies, from the proxy's side.
type liar struct {
	net.Conn
	in *bufio.Reader
}

// listen serves each connection by serve until the test ends.
func listen(t testing.TB, network, address string, serve func(*liar)) net.Addr {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			all.Go(func() {
				defer func() {
					_ = conn.Close()
					mu.Lock()
					delete(open, conn)
					mu.Unlock()
				}()
				serve(&liar{conn, bufio.NewReader(conn)})
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return ln.Addr()
}

// does is a list of what a liar does with each connection, one after the other.
func does(steps ...func(*liar) bool) func(*liar) {
	return func(l *liar) {
		for _, step := range steps {
			if !step(l) {
				return
			}
		}
	}
}

// hang keeps the connection until the other side closes it.
func hang(l *liar) bool {
	_, _ = io.Copy(io.Discard, l.in)
	return false
}

// request reads one of HTTP.
func request(l *liar) bool {
	_, err := http.ReadRequest(l.in)
	return err == nil
}

// read reads so many bytes.
func read(n int) func(*liar) bool {
	return func(l *liar) bool {
		_, err := io.CopyN(io.Discard, l.in, int64(n))
		return err == nil
	}
}

// say sends bytes.
func say(text string) func(*liar) bool {
	return func(l *liar) bool {
		_, err := io.WriteString(l.Conn, text)
		return err == nil
	}
}

// forever sends the same bytes until nobody takes them.
func forever(text string) func(*liar) bool {
	text = strings.Repeat(text, max(1, 4096/len(text)))
	return func(l *liar) bool {
		for say(text)(l) {
		}
		return false
	}
}

// drip sends a byte every now and then until nobody takes them.
func drip(l *liar) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if !say("x")(l) {
			break
		}
	}
	return false
}

// reset ends the connection without a word.
func reset(l *liar) bool {
	_ = l.Conn.(*net.TCPConn).SetLinger(0)
	return false
}

// secure is the server's side of TLS on the connection, as it is then.
func secure(c *tls.Config) func(*liar) bool {
	return func(l *liar) bool {
		s := tls.Server(buffered{l.Conn, l.in}, c)
		if s.Handshake() != nil {
			return false
		}
		l.Conn, l.in = s, bufio.NewReader(s)
		return true
	}
}

type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

// Steps of SOCKS (RFC 1928, RFC 1929).

// greet reads a greeting and chooses a method.
func greet(method byte) func(*liar) bool {
	return func(l *liar) bool {
		head := make([]byte, 2)
		if _, err := io.ReadFull(l.in, head); err != nil {
			return false
		}
		return read(int(head[1]))(l) && say(string([]byte{5, method}))(l)
	}
}

// login reads user name and password.
func login(l *liar) bool {
	if _, err := l.in.ReadByte(); err != nil { // the version
		return false
	}
	for range 2 {
		n, err := l.in.ReadByte()
		if err != nil || !read(int(n))(l) {
			return false
		}
	}
	return true
}

// connect reads a request for target.example.
func connect(l *liar) bool { return read(4 + 1 + len("target.example") + 2)(l) }

const granted = "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"
