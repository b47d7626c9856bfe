package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// A server goes, and another one with data of its own comes to its address. Sessions are
// told at once, and those who connect meanwhile are held, not refused, and meet the new one.
func TestFailover(t *testing.T) {
	first := pgtest.Start(t, pgtest.Options{Auth: "trust"})
	router := pgtest.Route(t, "--static-backends=orders="+first.Address, "--dial-timeout-seconds=60").Ready(t)
	dsn := pgtest.DSN(router.Address, "postgres.orders", "dbname=postgres")
	old := identity(t, dsn)
	idle, busy := session(t, dsn), session(t, dsn)
	if _, err := busy.Exec(t.Context(), "begin; create table lost ()"); err != nil {
		t.Fatal(err)
	}
	first.Stop()
	for name, conn := range map[string]*pgx.Conn{"idle": idle, "in a transaction": busy} {
		if took, err := noticed(t, conn); sqlstate(err) != "57P01" || took > time.Second {
			t.Errorf("the session %s gets %v after %v", name, err, took)
		}
	}
	const waiting = 5
	met := make(chan string, waiting)
	for range waiting {
		go func() { met <- identityOr(t.Context(), dsn) }()
	}
	pgtest.Start(t, pgtest.Options{Auth: "trust", Port: first.Port})
	for range waiting {
		if got := <-met; got == old || got == "" {
			t.Errorf("a held session is at %q", got)
		}
	}
}

func session(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// noticed waits until a session is told that it ends, and says how long that took.
func noticed(t *testing.T, conn *pgx.Conn) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began := time.Now()
	_, err := conn.WaitForNotification(ctx)
	return time.Since(began), err
}

// identity names the server's data.
func identity(t *testing.T, dsn string) string {
	t.Helper()
	out := identityOr(t.Context(), dsn)
	if out == "" {
		t.Fatal("the server cannot be asked")
	}
	return out
}

// identityOr is identity, empty if the server cannot be asked.
func identityOr(ctx context.Context, dsn string) (out string) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return ""
	}
	defer conn.Close(ctx)
	_ = conn.QueryRow(ctx, "select system_identifier::text from pg_control_system()").Scan(&out)
	return out
}
