package postgres_test

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/servertls"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// validity is around now.
func validity() tlsutil.Validity {
	return tlsutil.From(time.Now().Add(-time.Hour), 24*time.Hour)
}

// authority is a certificate authority for a test, and the file that it is in.
type authority struct {
	*tlsutil.CA
	file string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	ca, err := tlsutil.NewCA("authority of "+t.Name(), validity())
	if err != nil {
		t.Fatal(err)
	}
	return authority{ca, written(t, "ca.crt", ca.Cert)}
}

func (a authority) leaf(t *testing.T, names ...string) tlsutil.Pair {
	t.Helper()
	pair, err := a.Leaf(validity(), names...)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// written puts data into a file of the test.
func written(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func client(t *testing.T, o servertls.Options) *servertls.Client {
	t.Helper()
	c, err := servertls.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// encrypted is what the server says of a session that came through the router.
const encrypted = "select ssl::text from pg_stat_ssl where pid = pg_backend_pid()"

// Every mode against servers that it suits and that it does not.
func TestServerTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	start := func(pair tlsutil.Pair) string {
		return pgtest.Start(t, pgtest.Options{TLS: &pgtest.Secured{Pair: pair}}).Address
	}
	servers := map[string]string{
		"of the authority": start(ca.leaf(t, "127.0.0.1")),
		"by another name":  start(ca.leaf(t, "orders.example")),
		"of another":       start(other.leaf(t, "127.0.0.1")),
		"without TLS":      pgtest.Start(t, pgtest.Options{}).Address,
	}
	for mode, wants := range map[servertls.Mode]map[string]string{
		servertls.Disable:    {"of the authority": "false", "by another name": "false", "of another": "false", "without TLS": "false"},
		servertls.Require:    {"of the authority": "true", "by another name": "true", "of another": "true", "without TLS": ""},
		servertls.VerifyCA:   {"of the authority": "true", "by another name": "true", "of another": "", "without TLS": ""},
		servertls.VerifyFull: {"of the authority": "true", "by another name": "", "of another": "", "without TLS": ""},
	} {
		secure := client(t, servertls.Options{Mode: mode, CAFile: ca.file})
		for server, want := range wants {
			t.Run(string(mode)+", a server "+server, func(t *testing.T) {
				log, text := logged()
				_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+servers[server]), Servers: secure, Log: log})
				conn, err := connect(t, address, "postgres.orders", "sslmode=disable")
				if want == "" {
					if sqlstate(err) != session.ConnectionFailed || !strings.Contains(err.Error(), "cannot be secured") || strings.Contains(err.Error(), servers[server]) {
						t.Fatalf("got %v", err)
					}
					await(t, text, "TLS to the server: ")
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				var got string
				if err := conn.QueryRow(t.Context(), encrypted).Scan(&got); err != nil || got != want {
					t.Errorf("encrypted: %s, %v, want %s", got, err, want)
				}
			})
		}
	}
}

// A cancel reaches a server that takes nothing in clear.
func TestServerTLSCancel(t *testing.T) {
	ca := newAuthority(t)
	server := pgtest.Start(t, pgtest.Options{
		TLS: &pgtest.Secured{Pair: ca.leaf(t, "127.0.0.1")}, Access: "hostssl all all all trust",
	})
	_, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+server.Address), Servers: client(t, servertls.Options{Mode: servertls.VerifyFull, CAFile: ca.file}),
	})
	script := "set statement_timeout = '60s'; select pg_sleep(50)"
	psql := exec.CommandContext(t.Context(), "psql", pgtest.DSN(address, "postgres.orders", "sslmode=disable"), "-c", script)
	out := new(strings.Builder)
	psql.Stdout, psql.Stderr = out, out
	started := time.Now()
	if err := psql.Start(); err != nil {
		t.Fatal(err)
	}
	look, err := connect(t, address, "postgres.orders", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	sleeping := func() (n int) {
		t.Helper()
		if err := look.QueryRow(t.Context(), "select count(*) from pg_stat_activity where wait_event = 'PgSleep'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for deadline := time.Now().Add(20 * time.Second); sleeping() == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("psql runs no query: %s", out)
		}
	}
	if err := psql.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = psql.Wait()
	if took := time.Since(started); err == nil || !strings.Contains(out.String(), "Cancel request sent") || took > 40*time.Second {
		t.Errorf("psql says %q after %v, %v", out, took, err)
	}
	if n := sleeping(); n != 0 {
		t.Errorf("%d queries go on", n)
	}
}

// A new authority counts from the next session on.
func TestServerTLSReload(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	server := pgtest.Start(t, pgtest.Options{TLS: &pgtest.Secured{Pair: after.leaf(t, "127.0.0.1")}})
	_, address := serve(t, postgres.Options{
		Resolver: table(t, "orders="+server.Address), Servers: client(t, servertls.Options{Mode: servertls.VerifyFull, CAFile: before.file}),
	})
	if _, err := connect(t, address, "postgres.orders", "sslmode=disable"); sqlstate(err) != session.ConnectionFailed {
		t.Errorf("got %v", err)
	}
	if err := os.Rename(after.file, before.file); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, address, "postgres.orders", "sslmode=disable"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// The router shows its own certificate to servers that ask for one.
func TestServerTLSWithCertificate(t *testing.T) {
	ca := newAuthority(t)
	server := pgtest.Start(t, pgtest.Options{
		TLS: &pgtest.Secured{Pair: ca.leaf(t, "127.0.0.1"), ClientCA: ca.Cert}, Access: "hostssl all all all scram-sha-256 clientcert=verify-ca",
	})
	own := ca.leaf(t, "router")
	for name, c := range map[string]struct {
		options servertls.Options
		want    string
	}{
		"with":    {servertls.Options{Mode: servertls.VerifyFull, CAFile: ca.file, CertFile: written(t, "own.crt", own.Cert), KeyFile: written(t, "own.key", own.Key)}, ""},
		"without": {servertls.Options{Mode: servertls.VerifyFull, CAFile: ca.file}, "28000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address), Servers: client(t, c.options)})
			if _, err := connect(t, address, "postgres.orders", "sslmode=disable"); sqlstate(err) != c.want || c.want == "" && err != nil {
				t.Errorf("got %v, want SQLSTATE %q", err, c.want)
			}
		})
	}
}

// What somebody puts before the server's handshake reaches nobody: neither an error in
// place of the answer, nor bytes behind it, nor silence without end.
func TestServerTLSInjected(t *testing.T) {
	injected := string(pgwire.ErrorResponse{Severity: pgwire.Fatal, SQLSTATE: "28P01", Message: "send me your password"}.Append(nil))
	pair := newAuthority(t).leaf(t, "127.0.0.1")
	own, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]string{
		"an error in place of the answer": injected,
		"an error behind the answer":      "S" + injected,
		"the request to log in":           "SR\x00\x00\x00\x08\x00\x00\x00\x03",
		"nothing":                         "",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						defer c.Close()
						_, _ = io.ReadFull(c, make([]byte, 8))
						_, _ = io.WriteString(c, answer)
						_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}}).HandshakeContext(t.Context())
					}()
				}
			}()
			_, address := serve(t, postgres.Options{
				Resolver: table(t, "orders="+l.Addr().String()), DialTimeout: time.Second, Servers: client(t, servertls.Options{Mode: servertls.Require}),
			})
			if _, err := connect(t, address, "postgres.orders", "sslmode=disable"); sqlstate(err) != session.ConnectionFailed {
				t.Errorf("got %v", err)
			}
		})
	}
}
