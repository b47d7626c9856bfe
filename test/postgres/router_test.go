package postgres_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// The real binary, a real server, a real psql: a session through TLS, health, and an
// orderly end.
func TestRouter(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	router := pgtest.Route(t, "--static-backends", "orders="+server.Address).Ready(t)
	out, err := exec.CommandContext(t.Context(), "psql", pgtest.DSN(router.Address, "postgres.orders", "sslmode=require"), "-Atc",
		"select current_user, current_database()").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "postgres|postgres" {
		t.Errorf("psql says %q, %v", out, err)
	}
	out, err = exec.CommandContext(t.Context(), "psql", pgtest.DSN(router.Address, "postgres", ""), "-c", "select 1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "names no deployment") || !strings.Contains(string(out), "HINT") {
		t.Errorf("a bare login is told %q, %v", out, err)
	}
	router.Signal(t, syscall.SIGTERM)
	if err := router.Wait(t, 30*time.Second); err != nil {
		t.Errorf("it ends with %v: %s", err, router.Log)
	}
	if text := router.Log.String(); strings.Contains(text, pgtest.Password) || !strings.Contains(text, `"msg":"session refused"`) {
		t.Errorf("the log has a password, or lacks the refusal: %s", text)
	}
}

// A second signal ends the router at once, whatever is under way.
func TestSecondSignal(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	router := pgtest.Route(t, "--static-backends", "orders="+server.Address).Ready(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, pgtest.DSN(router.Address, "postgres.orders", "sslmode=disable"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "begin"); err != nil {
		t.Fatal(err)
	}
	router.Signal(t, syscall.SIGTERM)
	second := time.NewTimer(1500 * time.Millisecond) // those within a second are one
	defer second.Stop()
	<-second.C
	router.Signal(t, syscall.SIGTERM)
	if err := router.Wait(t, 10*time.Second); err == nil {
		t.Error("it ends as if everything had been done")
	}
	if _, err := conn.Exec(ctx, "select 1"); err == nil {
		t.Error("a session goes on")
	}
}
