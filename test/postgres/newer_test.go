package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// cancelScript runs a query of a minute, cancels it once it sleeps at the server, and
// prints the protocol, the SQLSTATE that it ends with and what the session answers then.
const cancelScript = `
import sys, threading, time
import psycopg

conn = psycopg.connect(sys.argv[1], autocommit=True)
watch = psycopg.connect(sys.argv[2], autocommit=True)
ended = []

def sleep():
    try:
        conn.execute("select pg_sleep(60)")
        ended.append("00000")
    except psycopg.Error as e:
        ended.append(e.sqlstate or repr(e))

pid = conn.info.backend_pid
thread = threading.Thread(target=sleep, daemon=True)
thread.start()
deadline = time.monotonic() + 30
while not watch.execute("select from pg_stat_activity where pid = %s and wait_event = 'PgSleep'", [pid]).fetchall():
    assert time.monotonic() < deadline, "the query does not sleep"
    time.sleep(0.01)
if sys.argv[3] == "clear":
    conn.cancel()
else:
    conn.cancel_safe(timeout=20)
thread.join(20)
print(conn.pgconn.full_protocol_version, *ended or ["late"], conn.execute("select 6 * 7").fetchone()[0])
`

type visit struct{ name, more, cancel, protocol, came string }

// Sessions and cancels of the libpq of PostgreSQL 18: in clear, in TLS on request and
// direct, in each protocol. What a tap sees proves how they came.
func TestNewerLibpq(t *testing.T) {
	old := []visit{
		{"TLS on request", "sslmode=require", "safe", "30000", "tls tls"},
		{"direct TLS", "sslmode=require sslnegotiation=direct", "safe", "30000", "direct direct"},
		{"newest protocol", "sslmode=disable max_protocol_version=latest", "safe", "30000", "startup cancel"},
	}
	for version, visits := range map[pgtest.Version][]visit{
		pgtest.Installed: old,
		pgtest.V17:       old,
		pgtest.V18: {
			{"in clear", "sslmode=disable max_protocol_version=3.0", "safe", "30000", "startup cancel"},
			{"TLS on request", "sslmode=require max_protocol_version=3.0", "safe", "30000", "tls tls"},
			{"TLS on request, a cancel in clear", "sslmode=require max_protocol_version=3.0", "clear", "30000", "tls cancel"},
			{"newest protocol in clear", "sslmode=disable min_protocol_version=3.2 max_protocol_version=latest", "safe", "30002", "startup cancel-32"},
			{"newest protocol, TLS on request, a cancel in clear", "sslmode=require max_protocol_version=3.2", "clear", "30002", "tls cancel-32"},
			{"newest protocol, TLS on request", "sslmode=require max_protocol_version=3.2", "safe", "30002", "tls tls"},
			{"newest protocol, direct TLS", "sslmode=require sslnegotiation=direct max_protocol_version=latest", "safe", "30002", "direct direct"},
		},
	} {
		server := pgtest.Start(t, pgtest.Options{Version: version})
		router := pgtest.Route(t, "--static-backends", "orders="+server.Address).Ready(t)
		for _, v := range visits {
			t.Run(string(version)+" "+v.name, func(t *testing.T) { v.run(t, server, router) })
		}
	}
}

func (v visit) run(t *testing.T, server *pgtest.Server, router *pgtest.Router) {
	tap := startTap(t, router.Address)
	got := psycopg(t, cancelScript, pgtest.DSN(tap.address, "postgres.orders", v.more), pgtest.DSN(server.Address, "postgres", ""), v.cancel)
	if want := v.protocol + " 57014 42"; got != want {
		t.Errorf("got %q, want %q; %s", got, want, router.Log)
	}
	if came := tap.kinds(); came != v.came {
		t.Errorf("clients came by %q, want %q", came, v.came)
	}
}

// PostgreSQL 17, which takes clients in TLS only, shares its certificate with the router:
// direct TLS, channel binding and a cancel inside TLS meet on both legs.
func TestNewerLibpqWithTLSOnBothLegs(t *testing.T) {
	authority, pair := issued(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"authority": authority, "certificate": string(pair.Cert), "key": string(pair.Key)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := pgtest.Start(t, pgtest.Options{
		Version: pgtest.V17, TLS: &pgtest.Secured{Pair: pair}, Access: "hostssl all all all scram-sha-256",
	})
	router := pgtest.Route(t, "--static-backends=orders="+server.Address, "--tls-cert-file="+dir+"/certificate", "--tls-key-file="+dir+"/key",
		"--backend-tls=verify-full", "--backend-tls-ca-file="+dir+"/authority").Ready(t)
	verified := "sslmode=verify-full channel_binding=require sslrootcert=" + dir + "/authority "
	for _, v := range []visit{
		{"on request", verified, "safe", "30000", "tls tls"},
		{"direct", verified + "sslnegotiation=direct", "safe", "30000", "direct direct"},
		{"on request, a cancel in clear", verified, "clear", "30000", "tls cancel"},
	} {
		t.Run(v.name, func(t *testing.T) { v.run(t, server, router) })
	}
}

// psycopg runs a script, within a minute, and returns what it prints.
func psycopg(t *testing.T, script string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := pgtest.Psycopg(ctx, t, script, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("Python: %v", err)
	}
	return strings.TrimSpace(string(out))
}
