package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
)

// A client is told why, by status and by error type of RFC 9209, and the connection
// goes on.
func TestRefusalsSayWhy(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	silent := listen(t, "tcp", "127.0.0.1:0", func(c *client) { _, _ = c.in.ReadByte() })
	garbage := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		_, _ = c.in.ReadString('\n')
		_, _ = io.WriteString(c, "SSH-2.0-x\r\n")
	})
	proxyLike := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		_, _ = c.in.ReadString('\n')
		_, _ = io.WriteString(c, "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
	})
	switching := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		_, _ = c.in.ReadString('\n')
		_, _ = io.WriteString(c, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nx")
		_, _ = io.Copy(io.Discard, c.in)
	})
	p := start(t, func(c *Config) { c.Rules.Allow = c.Rules.Allow[:1] })
	for name, c := range map[string]struct {
		method, url string
		status      int
		kind        string
	}{
		"private":            {"CONNECT", "10.0.0.1:443", 403, "destination_ip_prohibited"},
		"metadata":           {"GET", "http://169.254.169.254/latest", 403, "destination_ip_prohibited"},
		"loopback of IPv6":   {"CONNECT", "[::1]:443", 403, "destination_ip_prohibited"},
		"mapped":             {"CONNECT", "[::ffff:169.254.169.254]:443", 403, "destination_ip_prohibited"},
		"NAT64":              {"CONNECT", "[64:ff9b::a00:1]:443", 403, "destination_ip_prohibited"},
		"6to4":               {"GET", "http://[2002:a00:1::1]/", 403, "destination_ip_prohibited"},
		"mail":               {"CONNECT", "127.0.0.1:25", 403, "http_request_denied"},
		"mail by GET":        {"GET", "http://127.0.0.1:587/", 403, "http_request_denied"},
		"nobody listens":     {"CONNECT", dead.Addr().String(), 502, "connection_refused"},
		"nobody, by GET":     {"GET", "http://" + dead.Addr().String() + "/", 502, "connection_refused"},
		"target closes":      {"GET", "http://" + silent + "/", 502, "connection_terminated"},
		"target talks SSH":   {"GET", "http://" + garbage + "/", 502, "http_protocol_error"},
		"target answers 407": {"GET", "http://" + proxyLike + "/", 502, "http_protocol_error"},
		"target upgrades":    {"GET", "http://" + switching + "/", 502, "http_protocol_error"},
		"no proxy request":   {"GET", "/index.html", 400, "http_request_error"},
		"asterisk":           {"OPTIONS", "*", 400, "http_request_error"},
		"https":              {"GET", "https://example.org/", 400, "http_request_error"},
		"user in the URL":    {"GET", "http://a:b@example.org/", 400, "http_request_error"},
		"no host":            {"GET", "http:///x", 400, "http_request_error"},
		"no port":            {"CONNECT", "example.org", 400, "http_request_error"},
		"zone":               {"CONNECT", "[fe80::1%25lo]:80", 400, "http_request_error"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, p.address)
			for range 2 {
				resp, body := conn.send(request(c.method, c.url)).answer(c.method)
				if got := resp.Header.Get("Proxy-Status"); resp.StatusCode != c.status || !strings.HasPrefix(got, "px-1; error="+c.kind+"; details=\"") {
					t.Fatalf("%s, %q, %q", resp.Status, got, body)
				}
				if strings.Contains(body, "127.0.0.1") || resp.Header.Get("Proxy-Authenticate") != "" {
					t.Errorf("an answer that tells too much: %q %v", body, resp.Header)
				}
				if resp.Close {
					return
				}
			}
		})
	}
}

// A name counts for what it stands for: the check is on the address that is dialled.
func TestANameCannotHideAnAddress(t *testing.T) {
	_, port, _ := net.SplitHostPort(echo(t))
	p := start(t, func(c *Config) { c.Rules.Allow = nil })
	resp, _ := dial(t, p.address).send(request("CONNECT", "localhost:"+port)).answer("CONNECT")
	if got := resp.Header.Get("Proxy-Status"); resp.StatusCode != 403 || !strings.Contains(got, "destination_ip_prohibited") {
		t.Errorf("%s %q", resp.Status, got)
	}
}

func TestWhatErrorsMean(t *testing.T) {
	dns := func(timeout bool) error {
		return &net.OpError{Op: "dial", Err: &net.DNSError{Err: "x", Name: "secret.internal", IsTimeout: timeout, IsNotFound: !timeout}}
	}
	for kind, err := range map[string]error{
		"dns_error": dns(false), "dns_timeout": dns(true), "connection_timeout": context.DeadlineExceeded,
		"destination_ip_unroutable": fmt.Errorf("dial: %w", syscall.EHOSTUNREACH), "connection_limit_reached": fmt.Errorf("socket: %w", syscall.EMFILE),
		"http_response_timeout": errIdle, "connection_terminated": syscall.ECONNRESET, "http_protocol_error": errors.New("malformed"),
	} {
		r := refuse(err)
		if r.Kind != kind || r.Status < 500 || strings.Contains(r.Text, "secret.internal") {
			t.Errorf("%v: %+v, want %s", err, *r, kind)
		}
	}
}

// Guessing is slow: after some wrong passwords a source has to wait, whatever it shows.
func TestGuessingIsThrottled(t *testing.T) {
	p := start(t, bob)
	var throttled *client
	eventually(t, "429", func() bool {
		c := dial(t, p.address)
		resp, _ := c.send(request("CONNECT", "example.org:443", "Proxy-Authorization: Basic Ym9iOndyb25n\r\n")).answer("CONNECT")
		if resp.StatusCode == 429 && resp.Header.Get("Retry-After") != fmt.Sprint(access.RetryAfter.Seconds()) {
			t.Fatalf("429 with %v", resp.Header)
		}
		throttled = c
		return resp.StatusCode == 429
	})
	target := echo(t)
	eventually(t, "the right password", func() bool {
		resp, _ := throttled.send(request("CONNECT", target, bobs)).answer("CONNECT")
		if resp.StatusCode != 429 {
			return resp.StatusCode == 200
		}
		return false
	})
}

func TestAProxyThatIsFullSaysSo(t *testing.T) {
	p := start(t, func(c *Config) { c.Limits.Connections = 1 })
	held := connected(t, p, echo(t))
	resp, _ := dial(t, p.address).send(request("CONNECT", "127.0.0.1:1")).answer("CONNECT")
	if got := resp.Header.Get("Proxy-Status"); resp.StatusCode != 503 || !strings.Contains(got, "connection_limit_reached") {
		t.Errorf("%s %q", resp.Status, got)
	}
	_ = held.Close()
	eventually(t, "room again", func() bool {
		resp, _ := dial(t, p.address).send(request("CONNECT", "127.0.0.1:1")).answer("CONNECT")
		return resp.StatusCode == 502
	})
}

func TestAClientThatSaysNothingIsCutOff(t *testing.T) {
	p := start(t, func(c *Config) { c.Limits.Startup = 100 * time.Millisecond })
	for _, begun := range []string{"", "GET http://", "\x05", "\x05\x01\x00\x05"} {
		c := dial(t, p.address).send(begun)
		if b, err := io.ReadAll(c.in); isTimeout(err) || len(b) > 2 {
			t.Errorf("after %q: %q, %v", begun, b, err)
		}
	}
}
