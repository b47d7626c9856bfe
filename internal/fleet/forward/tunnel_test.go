package forward

import (
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/proxy"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/credential"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
)

// connected opens a tunnel by CONNECT.
func connected(t *testing.T, p *rig, target string, fields ...string) *client {
	t.Helper()
	c := dial(t, p.address).send(request("CONNECT", target, fields...))
	if resp, body := c.answer("CONNECT"); resp.StatusCode != 200 {
		t.Fatalf("CONNECT: %s %q", resp.Status, body)
	}
	return c
}

func TestATunnelCarriesBothWays(t *testing.T) {
	c := connected(t, start(t), echo(t))
	c.send("hello").expect("hello")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.expectEnd()
}

// A side that has said all may still listen.
func TestHalfATunnelMayEndFirst(t *testing.T) {
	target := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		b, _ := io.ReadAll(c.in)
		_, _ = c.Write([]byte(strings.ToUpper(string(b))))
	})
	c := connected(t, start(t), target).send("hello")
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.expect("HELLO")
	c.expectEnd()
}

// What a client sends ahead of the answer goes to the target.
func TestATunnelTakesWhatWasSentAhead(t *testing.T) {
	c := dial(t, start(t).address).send(request("CONNECT", echo(t), "Content-Length: 0\r\n") + "hello")
	c.answer("CONNECT")
	c.expect("hello")
}

func TestATunnelByIPv6(t *testing.T) {
	target := listen(t, "tcp", "[::1]:0", func(c *client) { _, _ = io.Copy(c, c.in) })
	connected(t, start(t), target).send("hello").expect("hello")
}

// A target sees the address that the proxy was told to use.
func TestTargetsSeeTheEgressAddress(t *testing.T) {
	seen := listen(t, "tcp", "127.0.0.1:0", func(c *client) {
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		_, _ = io.WriteString(c, host+"\n")
	})
	p := start(t, func(c *Config) { c.Egress = addressOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 7)}) })
	connected(t, p, seen).expect("127.0.0.7\n")
	c := socks(t, p, nil, seen)
	c.expect("127.0.0.7\n")
}

func TestATunnelThatIsIdleEnds(t *testing.T) {
	p := start(t, func(c *Config) { c.Limits.Idle = 2 * time.Second })
	busy, idle := connected(t, p, echo(t)), connected(t, p, echo(t))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.ReadAll(idle.in)
	}()
	for open := true; open; {
		busy.send("x").expect("x")
		select {
		case <-ended:
			open = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	busy.send("x").expect("x")
}

// leases lets in the leases of px-1.
func leases(c *Config) {
	c.Access = &access.Policy{Credentials: access.Credentials{LeaseKey: make([]byte, credential.MinKey), Instance: "px-1"}}
}

// A tunnel ends with its lease, not before, by CONNECT and by SOCKS.
func TestATunnelEndsWithItsLease(t *testing.T) {
	p := start(t, leases)
	end := time.Now().Add(2 * time.Second).Truncate(time.Second).Add(time.Second)
	user, password := credential.Make(make([]byte, credential.MinKey), "px-1", "abc", end)
	basic := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	target := echo(t)
	byConnect, bySOCKS := connected(t, p, target, basic), socks(t, p, &proxy.Auth{User: user, Password: password}, target)
	for _, c := range []*client{byConnect, bySOCKS} {
		c.send("x").expect("x")
	}
	byConnect.expectEnd()
	bySOCKS.expectEnd()
	if early := time.Until(end); early > 0 {
		t.Errorf("ended %s before the lease", early)
	}
	if resp, _ := dial(t, p.address).send(request("CONNECT", target, basic)).answer("CONNECT"); resp.StatusCode != 407 || !strings.Contains(resp.Header.Get("Proxy-Status"), "the lease has ended") {
		t.Errorf("afterwards: %s %v", resp.Status, resp.Header)
	}
}

func TestARequestEndsWithItsLease(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	p := start(t, leases)
	user, password := credential.Make(make([]byte, credential.MinKey), "px-1", "abc", time.Now().Add(2*time.Second))
	basic := "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	c := dial(t, p.address).send(request("GET", target, basic))
	_, content, _ := c.begin("GET")
	if b, err := io.ReadAll(content); err == nil || isTimeout(err) {
		t.Errorf("%q, %v", b, err)
	}
}

// socks opens a tunnel by SOCKS, with the client of golang.org/x/net.
func socks(t *testing.T, p *rig, auth *proxy.Auth, target string) *client {
	t.Helper()
	d, err := proxy.SOCKS5("tcp", p.address, auth, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	return talk(t, c)
}

func TestSOCKS(t *testing.T) {
	_, port, _ := net.SplitHostPort(echo(t))
	for name, p := range map[string]*rig{"without password": start(t), "with password": start(t, bob)} {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			t.Run(name+" "+host, func(t *testing.T) {
				socks(t, p, &proxy.Auth{User: "bob", Password: "secret"}, net.JoinHostPort(host, port)).send("hello").expect("hello")
			})
		}
	}
}

// The bytes of RFC 1928 and 1929, for what a well-behaved client does not do.
func TestSOCKSByTheByte(t *testing.T) {
	const login, in = "\x05\x01\x02\x01\x03bob\x06secret", "\x05\x02\x01\x00"
	reply := func(b byte) string { return "\x05" + string(rune(b)) + "\x00\x01\x00\x00\x00\x00\x00\x00" }
	dead, closed := closedPort(t)
	closed()
	p := start(t, bob, func(c *Config) { c.Rules.Allow = c.Rules.Allow[:1] })
	for name, c := range map[string]struct{ sent, want string }{
		"no method":            {"\x05\x01\x01", "\x05\xff"},
		"password not offered": {"\x05\x01\x00", "\x05\xff"},
		"wrong password":       {"\x05\x02\x00\x02\x01\x03bob\x05wrong", "\x05\x02\x01\x01"},
		"BIND":                 {login + "\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50", in + reply(7)},
		"UDP ASSOCIATE":        {login + "\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", in + reply(7)},
		"unknown address type": {login + "\x05\x01\x00\x05\x7f\x00\x00\x01\x00\x50", in + reply(8)},
		"invalid name":         {login + "\x05\x01\x00\x03\x03a b\x00\x50", in + reply(1)},
		"private address":      {login + "\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x50", in + reply(2)},
		"metadata, mapped":     {login + "\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\xa9\xfe\xa9\xfe\x00\x50", in + reply(2)},
		"loopback of IPv6":     {login + "\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50", in + reply(2)},
		"mail":                 {login + "\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x19", in + reply(2)},
		"nobody listens":       {login + "\x05\x01\x00\x01\x7f\x00\x00\x01" + dead, in + reply(5)},
		"not SOCKS any more":   {login + "GET / HTTP/1.1\r\n\r\n", in},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dial(t, p.address).send(c.sent)
			conn.expect(c.want)
			conn.expectEnd()
		})
	}
}

// closedPort is a port, in network order, at which nobody listens once it is closed.
func closedPort(t *testing.T) (port string, free func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := ln.Addr().(*net.TCPAddr).Port
	return string([]byte{byte(n >> 8), byte(n)}), func() { _ = ln.Close() }
}

// A credential of the same lease with a later end prolongs what is open, by whatever it is
// shown; nothing is remembered of a lease under which nothing is open.
func TestALaterCredentialProlongsATunnel(t *testing.T) {
	p := start(t, leases)
	first := time.Now().Add(2 * time.Second).Truncate(time.Second).Add(time.Second)
	later := first.Add(2 * time.Second)
	basic := func(lease string, end time.Time) string {
		user, password := credential.Make(make([]byte, credential.MinKey), "px-1", lease, end)
		return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
	}
	target := echo(t)
	kept, other := connected(t, p, target, basic("abc", first)), connected(t, p, target, basic("xyz", first))
	if resp, _ := dial(t, p.address).send(request("OPTIONS", "*", basic("abc", later))).answer("OPTIONS"); resp.StatusCode != 400 {
		t.Fatalf("OPTIONS *: %s", resp.Status)
	}
	other.expectEnd()
	kept.send("x").expect("x")
	kept.expectEnd()
	if early := time.Until(later); early > 0 {
		t.Errorf("ended %s before the lease", early)
	}
	eventually(t, "nothing is remembered", func() bool {
		p.leases.mu.Lock()
		defer p.leases.mu.Unlock()
		return len(p.leases.open) == 0
	})
}
