package postgres_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

func TestTLS(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	_, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+server.Address), TLS: certificate(t), Required: true, Suffix: "db.example",
	})
	for name, c := range map[string]struct{ login, more, sqlstate string }{
		"asked for":             {"postgres.orders", "sslmode=require", ""},
		"direct":                {"postgres.orders", "sslmode=require sslnegotiation=direct", ""},
		"in clear is refused":   {"postgres.orders", "sslmode=disable", session.InvalidAuthorization},
		"no deployment is told": {"postgres", "sslmode=require", session.InvalidAuthorization},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := connect(t, address, c.login, c.more)
			if sqlstate(err) != c.sqlstate || c.sqlstate == "" && err != nil {
				t.Fatalf("got %v, want SQLSTATE %q", err, c.sqlstate)
			}
			if err == nil {
				var one int
				if err := conn.QueryRow(t.Context(), "select 1").Scan(&one); err != nil || one != 1 {
					t.Errorf("got %d, %v", one, err)
				}
			}
		})
	}
	t.Run("a host name routes", func(t *testing.T) {
		answer := hello(t, address, &tls.Config{ServerName: "orders.db.example", NextProtos: []string{"postgresql"}}, "postgres")
		if answer != 'R' {
			t.Errorf("answer %q, want a request to log in", answer)
		}
	})
	t.Run("direct TLS of another protocol is over", func(t *testing.T) {
		if answer := hello(t, address, &tls.Config{ServerName: "orders.db.example"}, "postgres"); answer != 0 {
			t.Errorf("answer %q", answer)
		}
	})
}

// certificate is one made in memory.
func certificate(t *testing.T) *tlsstore.Store {
	t.Helper()
	store, err := tlsstore.Memory(tlsstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// hello shakes hands directly, starts a session and returns the type of the first
// answer, 0 if the connection ends instead.
func hello(t *testing.T, address string, config *tls.Config, login string) byte {
	t.Helper()
	plain, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := plain.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	config.InsecureSkipVerify = true
	secured := tls.Client(plain, config)
	_, _ = secured.Write(startup(t, login)) // the answer shows whether it went well
	answer, err := bufio.NewReader(secured).ReadByte()
	if err != nil {
		return 0
	}
	return answer
}

// startup is the packet that a session begins with.
func startup(t *testing.T, login string) []byte {
	t.Helper()
	packet, err := pgwire.Packet{Kind: pgwire.Startup, Version: pgwire.Version30, Parameters: parameters(login)}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return packet
}

func parameters(login string) pgwire.Parameters {
	var p pgwire.Parameters
	p.Set("user", login)
	return p
}

// loginTLS opens a session inside TLS and waits until it is ready.
func loginTLS(t *testing.T, address, user string, key pgwire.Key) net.Conn {
	t.Helper()
	raw, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}})
	err = errors.Join(raw.SetDeadline(time.Now().Add(20*time.Second)), c.HandshakeContext(t.Context()), write(c, startup(t, user)))
	if _, readErr := io.ReadFull(c, make([]byte, len(loggedIn)+9+len(key.Secret))); err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	return c
}
