package postgres_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pires/go-proxyproto"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/proxyprotocol"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// logged returns a log of everything, and what it has written.
func logged() (*slog.Logger, *rig.Output) {
	out := new(rig.Output)
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug})), out
}

// await waits until the log has a text.
func await(t *testing.T, log *rig.Output, text string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(log.String(), text); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("the log has no %q:\n%s", text, log)
		}
	}
}

// through connects with pgx as a load balancer does for a client at 198.51.100.7.
func through(t *testing.T, address, login, more string, version byte) (*pgx.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	config, err := pgx.ParseConfig(pgtest.DSN(address, login, more))
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		source, destination := &net.TCPAddr{IP: net.IPv4(198, 51, 100, 7), Port: 12345}, &net.TCPAddr{IP: net.IPv4(203, 0, 113, 1), Port: 5432}
		_, err = proxyproto.HeaderProxyFromAddrs(version, source, destination).WriteTo(c)
		return c, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

// A client behind a load balancer is known by its own address, with and without TLS.
func TestProxyProtocol(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	log, text := logged()
	_, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+server.Address), TLS: certificate(t), Log: log,
		Proxy: proxyprotocol.Policy{Mode: proxyprotocol.Required, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	})
	for name, more := range map[string]string{"in clear": "sslmode=disable", "TLS": "sslmode=require", "direct TLS": "sslmode=require sslnegotiation=direct"} {
		for _, version := range []byte{1, 2} {
			t.Run(name, func(t *testing.T) {
				conn, err := through(t, address, "postgres.orders", more, version)
				if err != nil {
					t.Fatal(err)
				}
				var one int
				if err := conn.QueryRow(t.Context(), "select 1").Scan(&one); err != nil || one != 1 {
					t.Errorf("got %d, %v", one, err)
				}
			})
		}
	}
	t.Run("refusals have the client's address", func(t *testing.T) {
		if _, err := through(t, address, "nobody", "sslmode=disable", 2); sqlstate(err) != session.InvalidAuthorization {
			t.Errorf("got %v", err)
		}
		await(t, text, "198.51.100.7:12345")
	})
	t.Run("a client without a header is closed without a word", func(t *testing.T) {
		if _, err := connect(t, address, "postgres.orders", "sslmode=disable"); err == nil || sqlstate(err) != "" {
			t.Errorf("got %v", err)
		}
		await(t, text, proxyprotocol.ErrMissing.Error())
	})
}

// Who is not trusted is served as himself where headers are optional, and closed at his
// first byte of a header.
func TestProxyProtocolFromElsewhere(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	log, text := logged()
	_, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+server.Address), Log: log,
		Proxy: proxyprotocol.Policy{Mode: proxyprotocol.Optional, Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	})
	if _, err := connect(t, address, "postgres.orders", "sslmode=disable"); err != nil {
		t.Errorf("without a header: %v", err)
	}
	if _, err := through(t, address, "postgres.orders", "sslmode=disable", 2); err == nil || sqlstate(err) != "" {
		t.Errorf("with a header: %v", err)
	}
	await(t, text, proxyprotocol.ErrUntrusted.Error())
}

// A header that never ends costs no more than the startup may take.
func TestProxyProtocolDeadline(t *testing.T) {
	_, address := serve(t, postgres.Options{
		Resolver: table(t), StartupTimeout: 200 * time.Millisecond,
		Proxy: proxyprotocol.Policy{Mode: proxyprotocol.Required, Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	})
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "PROXY TCP4 198.51.100.7 203.0.113.1 123"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); len(answer) > 0 || err != nil {
		t.Errorf("got %q, %v", answer, err)
	}
}
