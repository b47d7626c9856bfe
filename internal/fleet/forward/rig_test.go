package forward

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// rig is a proxy on loopback that lets its clients reach loopback.
type rig struct {
	*Server
	address string
	end     context.CancelFunc // begins the drain
	ended   chan error
}

// start starts a proxy that everybody may use, unless change says otherwise.
func start(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	ports, err := destination.ParsePorts("1-65535")
	if err != nil {
		t.Fatal(err)
	}
	c := Config{
		Name: "px-1", Access: &access.Policy{Open: true}, Limits: DefaultLimits(), Log: slog.New(slog.DiscardHandler),
		Rules: destination.Rules{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, Ports: ports},
	}
	c.Limits.Drain = 50 * time.Millisecond
	for _, f := range change {
		f(&c)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &rig{Server: New(c), address: ln.Addr().String(), end: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- r.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Errorf("the proxy ended with %v", err)
		}
	})
	return r
}

// bob knows the password.
func bob(c *Config) {
	c.Access = &access.Policy{Credentials: access.Credentials{Username: "bob", Password: "secret"}}
}

const bobs = "Proxy-Authorization: Basic Ym9iOnNlY3JldA==\r\n"

// client is a raw connection.
type client struct {
	net.Conn
	in *bufio.Reader
	t  testing.TB
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return talk(t, c)
}

func talk(t testing.TB, c net.Conn) *client {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{c, bufio.NewReader(c), t}
}

func (c *client) send(text string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// answered is a response without its content.
type answered struct {
	Status           string
	StatusCode       int
	Header, Trailer  http.Header
	TransferEncoding []string
	Close            bool
}

// answer reads a response to a request with a method, and its content.
func (c *client) answer(method string) (answered, string) {
	c.t.Helper()
	a, content, trailer := c.begin(method)
	if method == http.MethodConnect && a.StatusCode == http.StatusOK {
		return a, ""
	}
	b, err := io.ReadAll(content)
	if err != nil {
		c.t.Fatalf("answer %s after %q: %v", a.Status, b, err)
	}
	a.Trailer = trailer()
	return a, string(b)
}

// begin reads the head of a response; its trailer is known once its content was read.
func (c *client) begin(method string) (head answered, content io.Reader, trailer func() http.Header) {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, &http.Request{Method: method}) //nolint:bodyclose // the connection is
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	head = answered{Status: r.Status, StatusCode: r.StatusCode, Header: r.Header, TransferEncoding: r.TransferEncoding, Close: r.Close}
	return head, r.Body, func() http.Header { return r.Trailer }
}

// expect reads exactly a text.
func (c *client) expect(want string) {
	c.t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(c.in, b); err != nil || string(b) != want {
		c.t.Fatalf("got %q, %v; want %q", b[:n], err, want)
	}
}

// expectEnd reads the end of the stream, orderly or not.
func (c *client) expectEnd() {
	c.t.Helper()
	if b, err := io.ReadAll(c.in); len(b) > 0 || isTimeout(err) {
		c.t.Fatalf("got %q, %v; want the end", b, err)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // of a connection
	return ok && e.Timeout()
}

// listen runs a target that serves each connection by f.
func listen(t testing.TB, network, address string, f func(*client)) string {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				f(&client{c, bufio.NewReader(c), t})
			}()
		}
	}()
	return ln.Addr().String()
}

// echo sends back what comes.
func echo(t testing.TB) string {
	t.Helper()
	return listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		_, _ = io.Copy(c, c.in)
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	})
}

// serve runs an HTTP target.
func serve(t testing.TB, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// through is an HTTP client that uses a proxy.
func through(t testing.TB, proxy string) *http.Client {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(u)}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !yes() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

func request(method, url string, fields ...string) string {
	return method + " " + url + " HTTP/1.1\r\nHost: ignored.example\r\n" + strings.Join(fields, "") + "\r\n"
}
