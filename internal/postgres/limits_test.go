package postgres_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
)

// Networks that clients of these tests are in; all of 127.0.0.0/8 is this machine.
const (
	here  = "127.0.0.1"
	there = "127.0.1.1"
)

// from opens a session from an address and returns it with the first answer: a byte of
// the server's, or the SQLSTATE of the router's refusal.
func from(t *testing.T, address, client, login string) (net.Conn, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}}).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c, ask(t, c, login)
}

func ask(t *testing.T, c net.Conn, login string) string {
	t.Helper()
	if err := write(c, startup(t, login)); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err != nil {
		t.Fatal(err)
	}
	if first[0] != 'E' {
		return string(first)
	}
	rest, err := io.ReadAll(c)
	_, state, found := strings.Cut(string(rest), "\x00C")
	if err != nil || !found {
		t.Fatalf("an error without a SQLSTATE: %q, %v", rest, err)
	}
	return state[:5]
}

func TestLimits(t *testing.T) {
	server := serveScript(t, loopback(t), loggedIn)
	for name, c := range map[string]struct {
		limits postgres.Limits
		second struct{ client, login string }
		want   string
	}{
		"of a deployment":      {postgres.Limits{PerDeployment: 1}, struct{ client, login string }{there, "bob.orders"}, session.TooManyConnections},
		"not of its pooler":    {postgres.Limits{PerDeployment: 1}, struct{ client, login string }{here, "bob.orders.pool"}, "R"},
		"not of another one":   {postgres.Limits{PerDeployment: 1}, struct{ client, login string }{here, "bob.billing"}, "R"},
		"of a network":         {postgres.Limits{PerNetwork: 1}, struct{ client, login string }{"127.0.0.9", "bob.billing"}, session.TooManyConnections},
		"not of other clients": {postgres.Limits{PerNetwork: 1}, struct{ client, login string }{there, "bob.orders"}, "R"},
		"none":                 {postgres.Limits{}, struct{ client, login string }{here, "bob.orders"}, "R"},
	} {
		t.Run(name, func(t *testing.T) {
			at := server.Addr().String()
			_, address := serve(t, postgres.Options{
				Resolver: table(t, "orders="+at, "orders.pool="+at, "billing="+at), Limits: c.limits,
			})
			first, got := from(t, address, here, "bob.orders")
			if got != "R" {
				t.Fatalf("the first gets %q", got)
			}
			if _, got := from(t, address, c.second.client, c.second.login); got != c.want {
				t.Errorf("the second gets %q, want %q", got, c.want)
			}
			_ = first.Close()
			eventually(t, "there is room again", func() bool {
				_, got := from(t, address, here, "bob.orders")
				return got == "R"
			})
		})
	}
}

// refusedLogin is what a server says to a wrong password.
const refusedLogin = "R\x00\x00\x00\x08\x00\x00\x00\x03E\x00\x00\x00\x17SFATAL\x00C28P01\x00Mno\x00\x00"

// A network whose logins a deployment refused waits there, and only there.
func TestAuthFailures(t *testing.T) {
	strict, open := serveScript(t, loopback(t), refusedLogin), serveScript(t, loopback(t), loggedIn)
	_, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+strict.Addr().String(), "billing="+open.Addr().String()),
		Limits:   postgres.Limits{AuthFailures: 2, AuthWindow: 4 * time.Second},
	})
	for range 3 { // what succeeds is not counted
		if _, got := from(t, address, here, "bob.billing"); got != "R" {
			t.Fatalf("a login that succeeds gets %q", got)
		}
	}
	for range 2 {
		c, got := from(t, address, here, "bob.orders")
		if got != "R" {
			t.Fatalf("a login that the server refuses gets %q", got)
		}
		if rest, err := io.ReadAll(io.LimitReader(c, int64(len(refusedLogin)-1))); err != nil || !strings.Contains(string(rest), "28P01") {
			t.Fatalf("told %q, %v", rest, err)
		}
	}
	if _, got := from(t, address, here, "bob.orders"); got != session.InvalidAuthorization {
		t.Errorf("one more gets %q", got)
	}
	if _, got := from(t, address, there, "bob.orders"); got != "R" {
		t.Errorf("another network gets %q", got)
	}
	if _, got := from(t, address, here, "bob.billing"); got != "R" {
		t.Errorf("another deployment gives %q", got)
	}
	eventually(t, "it may try again", func() bool {
		_, got := from(t, address, here, "bob.orders")
		return got == "R"
	})
}

// Who comes beyond the limit is told so in TLS too, also if it has sent more already.
func TestTooManyAreTold(t *testing.T) {
	store, err := tlsstore.Memory(tlsstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := serveScript(t, loopback(t), loggedIn)
	_, address := serve(t, postgres.Options{Resolver: newEndpoints(server.Addr().String()), TLS: store, Connections: 1})
	if _, got := from(t, address, here, "bob.orders"); got != "R" {
		t.Fatalf("the first gets %q", got)
	}
	for range 20 {
		plain, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = plain.SetDeadline(time.Now().Add(20 * time.Second))
		secured := tls.Client(plain, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}})
		pipelined := append(startup(t, "bob.orders"), "p\x00\x00\x00\x0asecret"...)
		if err := write(secured, pipelined); err != nil {
			t.Fatal(err)
		}
		told, err := io.ReadAll(secured)
		if err != nil || !strings.Contains(string(told), session.TooManyConnections) {
			t.Errorf("told %q, %v", told, err)
		}
		_ = plain.Close()
	}
}
