package postgres_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// A server with TLS is verified by psql, and asks for certificates where it is told to.
func TestSecured(t *testing.T) {
	ca, err := tlsutil.NewCA("test", tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Leaf(tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root.crt")
	if err := os.WriteFile(root, ca.Cert, 0o600); err != nil {
		t.Fatal(err)
	}
	server := pgtest.Start(t, pgtest.Options{
		TLS:    &pgtest.Secured{Pair: pair, ClientCA: ca.Cert},
		Access: "hostssl postgres all all scram-sha-256\nhostssl all all all scram-sha-256 clientcert=verify-ca",
	})
	psql := func(more string) (string, error) {
		dsn := pgtest.DSN(server.Address, "postgres", "sslrootcert="+root+" "+more)
		out, err := exec.CommandContext(t.Context(), "psql", dsn, "-Atc", "select ssl from pg_stat_ssl where pid = pg_backend_pid()").CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := psql("sslmode=verify-full"); err != nil || out != "t" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := psql("sslmode=disable"); err == nil || !strings.Contains(out, "no encryption") {
		t.Errorf("in clear: got %q, %v", out, err)
	}
	if out, err := psql("sslmode=verify-full dbname=template1"); err == nil || !strings.Contains(out, "certificate") {
		t.Errorf("without a certificate: got %q, %v", out, err)
	}
}
