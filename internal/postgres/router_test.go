package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// table is a static one of a deployment, or none.
func table(t *testing.T, backends ...string) *discovery.Table {
	t.Helper()
	all, errs := discovery.ParseStatic(strings.Join(backends, ","))
	if len(backends) > 0 && len(errs) > 0 {
		t.Fatal(errs)
	}
	return discovery.NewTable(all)
}

// serve runs a router until the test ends and returns it with its address.
func serve(t *testing.T, o postgres.Options) (*postgres.Router, string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	router := postgres.New(o)
	done := make(chan error, 1)
	go func() { done <- router.Serve(context.WithoutCancel(t.Context()), l) }()
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = router.Leave(now)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return router, l.Addr().String()
}

func connect(t *testing.T, address, login, more string) (*pgx.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, pgtest.DSN(address, login, more))
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

func sqlstate(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

func TestSessions(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address)})
	t.Run("pgx logs in, and the server sees the plain name", func(t *testing.T) {
		conn, err := connect(t, address, "postgres.orders", "sslmode=disable dbname=postgres")
		if err != nil {
			t.Fatal(err)
		}
		var user string
		var sum int
		if err := conn.QueryRow(t.Context(), "select current_user, (select sum(n) from generate_series(1, 100000) n(n))").Scan(&user, &sum); err != nil || user != "postgres" || sum != 5000050000 {
			t.Errorf("got %q, %d, %v", user, sum, err)
		}
	})
	t.Run("psql logs in with its own default for the database", func(t *testing.T) {
		cmd := exec.CommandContext(t.Context(), "psql", pgtest.DSN(address, "postgres.orders", "sslmode=prefer"), "-Atc", "select current_database()")
		out, err := cmd.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != "postgres" {
			t.Errorf("got %q, %v", out, err)
		}
	})
	t.Run("a wrong password is the server's to refuse", func(t *testing.T) {
		_, err := connect(t, address, "postgres.orders", "password=wrong sslmode=disable")
		if sqlstate(err) != "28P01" {
			t.Errorf("got %v", err)
		}
	})
	for login, want := range map[string]string{"postgres": session.InvalidAuthorization, "postgres.nowhere": session.ConnectionFailed} {
		t.Run("refused: "+login, func(t *testing.T) {
			_, err := connect(t, address, login, "sslmode=disable")
			if sqlstate(err) != want || strings.Contains(err.Error(), server.Address) {
				t.Errorf("got %v, want SQLSTATE %s and no address", err, want)
			}
		})
	}
	t.Run("cancel reaches the server that runs the query", func(t *testing.T) {
		conn, err := connect(t, address, "postgres.orders", "sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		var pid uint32
		if err := conn.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&pid); err != nil || pid != conn.PgConn().PID() {
			t.Errorf("backend %d has the key of %d, %v", pid, conn.PgConn().PID(), err)
		}
		isCancelled(t, conn)
	})
}

// A login with an md5 password cannot match once the name is rewritten, and the client
// is told so, and what to do.
func TestMD5(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Auth: "md5"})
	_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address)})
	_, err := connect(t, address, "postgres.orders", "sslmode=disable")
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || !strings.Contains(refused.Message, "md5") || !strings.Contains(refused.Hint, "SCRAM") {
		t.Errorf("got %v", err)
	}
	if _, err := connect(t, address, "postgres", "sslmode=disable options='-c gatehouse.deployment=orders'"); err != nil {
		t.Errorf("by options, where the name stays: %v", err)
	}
}

// A router that leaves ends idle sessions at once, and the others at the end of their
// transaction.
func TestLeave(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address)})
	idle, err := connect(t, address, "postgres.orders", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	busy, err := connect(t, address, "postgres.orders", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := busy.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		left <- router.Leave(ctx)
	}()
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err := idle.Exec(t.Context(), "select 1"); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("an idle session goes on")
		}
	}
	if _, err := busy.Exec(t.Context(), "select 1"); err != nil {
		t.Errorf("inside the transaction: %v", err)
	}
	if _, err := busy.Exec(t.Context(), "commit"); err != nil {
		t.Errorf("the commit: %v", err)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
}

// Connections that only open and close, as port checks do, end nothing.
func TestPortChecks(t *testing.T) {
	_, address := serve(t, postgres.Options{Resolver: table(t)})
	for _, bytes := range []string{"", "\x00", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "GET / HTTP/1.1\r\n\r\n"} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(bytes)); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	}
	if _, err := connect(t, address, "bob", "sslmode=disable"); sqlstate(err) != session.InvalidAuthorization {
		t.Errorf("afterwards: %v", err)
	}
}

// isCancelled cancels a query of a session, by a request of its own, until that has ended.
func isCancelled(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	failed := make(chan error, 1)
	started := time.Now()
	go func() { _, err := conn.Exec(context.WithoutCancel(t.Context()), "select pg_sleep(60)"); failed <- err }()
	for cancelled := false; !cancelled; {
		if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-failed:
			cancelled = true
			if sqlstate(err) != "57014" || time.Since(started) > 30*time.Second {
				t.Errorf("got %v after %v", err, time.Since(started))
			}
		case <-time.After(50 * time.Millisecond): // it came before the query
		}
	}
}
