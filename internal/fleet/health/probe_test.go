package health

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/offer"
)

// liar is a proxy that does what its test says with each connection.
func liar(t *testing.T, serve func(net.Conn, *http.Request)) Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
				defer stop()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err == nil {
					serve(conn, r)
				}
			}()
		}
	}()
	return at(l.Addr().String(), "http://probe.example/")
}

func fixed(username, password string) func(time.Time) offer.Credentials {
	return func(time.Time) offer.Credentials { return offer.Credentials{Username: username, Password: password} }
}

func at(address, url string) Proxy {
	addr := netip.MustParseAddrPort(address)
	return Proxy{
		Key: "crawl/p", Scheme: "http", Host: addr.Addr().String(), Port: int(addr.Port()), Login: fixed("bob", "s3cret"),
		Check: Check{URL: url, Timeout: 300 * time.Millisecond},
	}
}

func say(text string) func(net.Conn, *http.Request) {
	return func(c net.Conn, _ *http.Request) { _, _ = fmt.Fprint(c, text) }
}

func wait(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

// TestProxiesThatLie: what a proxy does wrong has a class of its own.
func TestProxiesThatLie(t *testing.T) {
	secret := strings.Repeat("x", maxAnswer+1)
	for name, c := range map[string]struct {
		serve  func(net.Conn, *http.Request)
		url    string
		egress string
		want   Class
	}{
		"accepts and hangs": {func(c net.Conn, _ *http.Request) { wait(c) }, "", "", Timeout},
		"407":               {say("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=p\r\nContent-Length: 0\r\n\r\n"), "", "", AuthFailed},
		"407 to CONNECT":    {say("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"), "https://probe.example/", "", AuthFailed},
		"502 to CONNECT":    {say("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"), "https://probe.example/", "", ConnectStatus},
		"no TLS in the tunnel": {func(c net.Conn, _ *http.Request) {
			_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
			wait(c)
			_, _ = fmt.Fprint(c, "SSH-2.0-OpenSSH\r\n")
		}, "https://probe.example/", "", TLSFailed},
		"another status":            {say("HTTP/1.1 503 no\r\nContent-Length: 0\r\n\r\n"), "", "", BadStatus},
		"dead after the first byte": {say("H"), "", "", Broken},
		"breaks off":                {say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), "", "", Broken},
		"no HTTP":                   {say("220 mail ready\r\n"), "", "", Broken},
		"endless":                   {say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + secret), "", "", Broken},
		"drips": {func(c net.Conn, _ *http.Request) {
			_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
			for range 50 {
				time.Sleep(20 * time.Millisecond)
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
			}
		}, "", "", Timeout},
		"another egress": {say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n192.0.2.9"), "", "192.0.2.1", WrongEgress},
		"no egress":      {say("HTTP/1.1 204 No Content\r\n\r\n"), "", "192.0.2.1", WrongEgress},
		"right egress":   {say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n192.0.2.1\n"), "", "192.0.2.1", OK},
		"well":           {say("HTTP/1.1 204 No Content\r\n\r\n"), "", "", OK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := liar(t, c.serve)
			if c.url != "" {
				p.Check.URL = c.url
			}
			if c.want != Timeout {
				p.Check.Timeout = 20 * time.Second
			}
			if c.egress != "" {
				p.Egress, p.Check.VerifyEgress = netip.MustParseAddr(c.egress), true
			}
			got := Probe(t.Context(), p)
			if got.Class != c.want {
				t.Errorf("class %s, want %s: %s", got.Class, c.want, got.Message)
			}
			if strings.Contains(got.Message, "s3cret") || strings.Contains(got.Message, "\n") {
				t.Errorf("message %q", got.Message)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	p := at(address, "http://probe.example/")
	p.Check.Timeout = 20 * time.Second
	if got := Probe(t.Context(), p); got.Class != Dial {
		t.Errorf("class %s: %s", got.Class, got.Message)
	}
}

// TestSecureProxy: the hop to a proxy of scheme https is verified as its owner says.
func TestSecureProxy(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "probe.example" || r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	p := at(strings.TrimPrefix(server.URL, "https://"), "http://probe.example/")
	p.Scheme, p.Check.Timeout = "https", 20*time.Second
	if got := Probe(t.Context(), p); got.Class != TLSFailed {
		t.Errorf("an unknown authority: class %s: %s", got.Class, got.Message)
	}
	p.TLS.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if got := Probe(t.Context(), p); got.Class != OK {
		t.Errorf("its own authority: class %s: %s", got.Class, got.Message)
	}
	p.TLS.ServerName = "other.example"
	if got := Probe(t.Context(), p); got.Class != TLSFailed {
		t.Errorf("another name: class %s: %s", got.Class, got.Message)
	}
	p.TLS.InsecureSkipVerify = true
	if got := Probe(t.Context(), p); got.Class != OK {
		t.Errorf("without verification: class %s: %s", got.Class, got.Message)
	}
}

// TestCertificateWithinATunnel: the target's certificate is verified, through a tunnel
// that the proxy grants.
func TestCertificateWithinATunnel(t *testing.T) {
	target := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(target.Close)
	p := liar(t, func(c net.Conn, _ *http.Request) {
		_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
		secure := tls.Server(c, target.TLS)
		_ = secure.Handshake()
	})
	p.Check.URL, p.Check.Timeout = "https://probe.example/", 20*time.Second
	if got := Probe(t.Context(), p); got.Class != TLSFailed {
		t.Errorf("class %s: %s", got.Class, got.Message)
	}
}
