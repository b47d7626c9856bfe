package hop

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/access"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/forward/destination"
)

// start runs a proxy that bob may use, and returns how it is gone by.
func start(t *testing.T, scheme string) Proxy {
	t.Helper()
	ports, err := destination.ParsePorts("1-65535")
	if err != nil {
		t.Fatal(err)
	}
	c := forward.Config{
		Name: "px", Limits: forward.DefaultLimits(), Log: slog.New(slog.DiscardHandler), OnlySOCKS: scheme == SOCKS,
		Access: &access.Policy{Credentials: access.Credentials{Username: "bob", Password: "secret"}},
		Rules:  destination.Rules{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Ports: ports},
	}
	c.Limits.Drain = 10 * time.Millisecond
	p := Proxy{Scheme: scheme, Host: "127.0.0.1", Username: "bob", Password: "secret"}
	if scheme == HTTPS {
		made := httptest.NewTLSServer(nil) // whose certificate is for 127.0.0.1
		made.Close()
		roots := x509.NewCertPool()
		roots.AddCert(made.Certificate())
		c.TLS, p.TLS = &tls.Config{Certificates: made.TLS.Certificates}, &tls.Config{RootCAs: roots}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.Port = ln.Addr().(*net.TCPAddr).Port
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- forward.New(c).Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return p
}

// greeter speaks first, and sends back a line.
func greeter(t *testing.T) destination.Target {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
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
			_, _ = io.WriteString(c, "hello\n")
			line, _ := bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, line)
			_ = c.Close()
		}
	}()
	to, err := destination.ParseTarget(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// By each scheme what a target says first is not lost, and credentials can be shown.
func TestTunnels(t *testing.T) {
	for _, scheme := range []string{HTTP, HTTPS, SOCKS} {
		t.Run(scheme, func(t *testing.T) {
			p, to := start(t, scheme), greeter(t)
			c, err := Tunnel(deadline(t), p, to)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := io.WriteString(c, "word\n"); err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(c); err != nil || string(b) != "hello\nword\n" {
				t.Errorf("%q, %v", b, err)
			}
			if err := Present(deadline(t), p); err != nil {
				t.Errorf("to show the credentials: %v", err)
			}
		})
	}
}

// Whose fault it is decides whether another proxy is tried; no error tells a password.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		scheme string
		change func(*Proxy)
		port   uint16 // of the target; 0 is that of one that listens
		proxy  bool
		text   string
	}{
		"wrong password":       {HTTP, func(p *Proxy) { p.Password = "wrong-one" }, 0, true, "refuses the credentials"},
		"wrong password/socks": {SOCKS, func(p *Proxy) { p.Password = "wrong-one" }, 0, true, "refuses the credentials"},
		"no password/socks":    {SOCKS, func(p *Proxy) { p.Username, p.Password = "", "" }, 0, true, "refuses the credentials"},
		"unknown authority":    {HTTPS, func(p *Proxy) { p.TLS = nil }, 0, true, "certificate of the leased proxy cannot be verified"},
		"another name":         {HTTPS, func(p *Proxy) { p.TLS.ServerName = "other.example.net" }, 0, true, "cannot be verified"},
		"no TLS":               {HTTP, func(p *Proxy) { p.Scheme = HTTPS }, 0, true, "leased proxy"},
		"nobody there":         {HTTP, func(p *Proxy) { p.Port = 1 }, 0, true, "cannot be connected to"},
		"closed target":        {HTTP, func(*Proxy) {}, 1, false, "answers 502"},
		"closed target/socks":  {SOCKS, func(*Proxy) {}, 1, false, "the target refuses the connection"},
		"not allowed":          {HTTP, func(*Proxy) {}, 25, false, "answers 403"},
		"not allowed/socks":    {SOCKS, func(*Proxy) {}, 25, false, "does not allow this destination"},
	} {
		t.Run(name, func(t *testing.T) {
			p, to := start(t, c.scheme), greeter(t)
			c.change(&p)
			if c.port != 0 {
				to.Port = c.port
			}
			_, err := Tunnel(deadline(t), p, to)
			failed, ok := errors.AsType[*Error](err)
			if !ok || failed.Proxy != c.proxy || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "wrong-one") {
				t.Errorf("%v: proxy's fault %t, want %t and %s", err, ok && failed.Proxy, c.proxy, c.text)
			}
		})
	}
}
