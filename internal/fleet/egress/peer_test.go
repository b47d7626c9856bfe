package egress

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// peer is a raw connection.
type peer struct {
	net.Conn
	in *bufio.Reader
	t  testing.TB
}

func (s *super) dial(t testing.TB) *peer {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return &peer{c, bufio.NewReader(c), t}
}

func (p *peer) send(text string) *peer {
	p.t.Helper()
	if _, err := io.WriteString(p.Conn, text); err != nil {
		p.t.Fatal(err)
	}
	return p
}

// answered is a response without its content.
type answered struct {
	Status     string
	StatusCode int
	Header     http.Header
}

// answer reads a response and its content.
func (p *peer) answer(method string) (answered, string) {
	p.t.Helper()
	r, err := http.ReadResponse(p.in, &http.Request{Method: method})
	if err != nil {
		p.t.Fatalf("no answer: %v", err)
	}
	defer func() { _ = r.Body.Close() }()
	a := answered{r.Status, r.StatusCode, r.Header}
	if method == http.MethodConnect && r.StatusCode == http.StatusOK {
		return a, ""
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Fatalf("%s: %v", r.Status, err)
	}
	return a, string(b)
}

func (p *peer) expect(want string) {
	p.t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(p.in, b); err != nil || string(b) != want {
		p.t.Fatalf("got %q, %v; want %q", b[:n], err, want)
	}
}

// ends waits for the end of the stream.
func (p *peer) ends() {
	p.t.Helper()
	b, err := io.ReadAll(p.in)
	if e, ok := err.(net.Error); len(b) > 0 || ok && e.Timeout() { //nolint:errorlint // of a connection
		p.t.Fatalf("got %q, %v; want the end", b, err)
	}
}

// basic is what shows a user name and a token.
func basic(user, password string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
}

func request(method, target string, fields ...string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: ignored.example\r\n" + strings.Join(fields, "") + "\r\n"
}

// connect opens a tunnel.
func (s *super) connect(t testing.TB, target string, fields ...string) (*peer, answered) {
	t.Helper()
	p := s.dial(t).send(request("CONNECT", target, fields...))
	r, body := p.answer("CONNECT")
	if r.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %s %v %q", r.Status, r.Header, body)
	}
	return p, r
}

// target answers HTTP with the address that asks and what it was asked, and echoes what
// is no HTTP.
func target(t testing.TB) (url string, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		for name := range r.Header {
			seen = append(seen, name)
		}
		mu.Unlock()
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(rw, "%s %s %s %s", host, r.Method, r.RequestURI, b)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

// echo says who asks, and then sends back what comes.
func echo(t testing.TB) string {
	t.Helper()
	ln := listen(t)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
				_, _ = io.WriteString(c, host+"\n")
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return ln.Addr().String()
}
