package postgres_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// What an operator sees of the real binary: metrics beside health, and routes on an
// address of their own that answers to no foreign name.
func TestOperations(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	router := pgtest.Route(t, "--static-backends", "orders="+server.Address).Ready(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, pgtest.DSN(router.Address, "postgres.orders", "sslmode=require"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	status, page := router.Get(t, "/metrics")
	for _, want := range []string{
		`gatehouse_postgres_connects_total{deployment="orders",outcome="ready",sqlstate=""} 1`, "gatehouse_postgres_ready 1",
		`gatehouse_postgres_sessions{deployment="orders"} 1`, "gatehouse_postgres_certificate_expiry_timestamp_seconds 1", "process_open_fds ",
	} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("/metrics answers %d without %s", status, want)
		}
	}
	admin := adminOf(t, router)
	if status, text := ask(ctx, t, admin, "127.0.0.1"); status != http.StatusOK || !strings.Contains(text, server.Address+"  true   1") {
		t.Errorf("/routes answers %d %q", status, text)
	}
	if status, text := ask(ctx, t, admin, "evil.example"); status != http.StatusMisdirectedRequest || strings.Contains(text, server.Address) {
		t.Errorf("to a foreign name /routes answers %d %q", status, text)
	}
}

// adminOf is the address at which the log says that routes are answered.
func adminOf(t *testing.T, router *pgtest.Router) string {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		for line := range strings.Lines(router.Log.String()) {
			var said struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "answering /routes" {
				return said.Address
			}
		}
	}
	t.Fatalf("no admin address: %s", router.Log)
	return ""
}

func ask(ctx context.Context, t *testing.T, admin, host string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/routes", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = host
	q.Header.Set("Accept", "text/plain")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
