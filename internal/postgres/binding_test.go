package postgres_test

import (
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// shown is a store with a pair.
func shown(t *testing.T, pair tlsutil.Pair) *tlsstore.Store {
	t.Helper()
	store, err := tlsstore.Files(written(t, "tls.crt", pair.Cert), written(t, "tls.key", pair.Key), tlsstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// psql asks whether it is in, and returns what it says.
func psql(t *testing.T, address, login, more string) string {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "psql", "-w", pgtest.DSN(address, login, more), "-Atc", "select 'in'").CombinedOutput()
	return strings.TrimSpace(string(out))
}

// What psql, and through it libpq, says in every cell of the matrix in docs/postgres.md.
func TestChannelBinding(t *testing.T) {
	const (
		in       = "in"
		vain     = "channel binding cannot work here"
		noOffer  = "did not offer an authentication method that supports channel binding"
		stripped = "offered SCRAM-SHA-256-PLUS authentication over a non-SSL connection"
		needsTLS = "channel binding required, but SSL not in use"
	)
	ca := newAuthority(t)
	pair := ca.leaf(t, "127.0.0.1")
	server := pgtest.Start(t, pgtest.Options{TLS: &pgtest.Secured{Pair: pair}})
	other, same := shown(t, ca.leaf(t, "127.0.0.1")), shown(t, pair)
	secure := client(t, servertls.Options{Mode: servertls.VerifyFull, CAFile: ca.file})
	for name, c := range map[string]struct {
		shows                    *tlsstore.Store
		servers                  *servertls.Client
		sslmode                  string
		disable, prefer, require string
	}{
		"TLS, then clear":                  {other, nil, "require", in, in, noOffer},
		"TLS, then TLS":                    {other, secure, "require", in, vain, vain},
		"TLS, then TLS, same certificate":  {same, secure, "require", in, in, in},
		"clear, then clear":                {other, nil, "disable", in, in, needsTLS},
		"clear, then TLS":                  {other, secure, "disable", stripped, stripped, needsTLS},
		"clear, then TLS, one certificate": {same, secure, "disable", stripped, stripped, needsTLS},
	} {
		_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address), TLS: c.shows, Servers: c.servers})
		for binding, want := range map[string]string{"disable": c.disable, "prefer": c.prefer, "require": c.require} {
			t.Run(name+", channel_binding="+binding, func(t *testing.T) {
				said := psql(t, address, "postgres.orders", "sslmode="+c.sslmode+" channel_binding="+binding)
				if !strings.Contains(said, want) || want == vain && !strings.Contains(said, "HINT") || want == in && said != in {
					t.Errorf("psql says %q, want %q", said, want)
				}
			})
		}
	}
}

// Clients that bind by themselves, as pgx does, are told what to do.
func TestChannelBindingIsTold(t *testing.T) {
	ca := newAuthority(t)
	server := pgtest.Start(t, pgtest.Options{TLS: &pgtest.Secured{Pair: ca.leaf(t, "127.0.0.1")}})
	log, text := logged()
	_, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+server.Address), TLS: certificate(t), Log: log, Servers: client(t, servertls.Options{Mode: servertls.Require}),
	})
	for _, more := range []string{"sslmode=require", "sslmode=require sslnegotiation=direct"} {
		if _, err := connect(t, address, "postgres.orders", more); sqlstate(err) != session.InvalidAuthorization || !strings.Contains(err.Error(), "channel binding") {
			t.Errorf("%s: got %v", more, err)
		}
	}
	psql(t, address, "postgres.orders", "sslmode=disable")
	await(t, text, "connect with sslmode=require or better")
}
