package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// Whose login a server has refused is in the log at DEBUG; a name that a client chose is
// bounded there, and its control bytes are not written.
func TestRefusedLoginIsLogged(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	log, text := logged()
	_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address), Log: log})
	if _, err := connect(t, address, "postgres.orders", "sslmode=disable password=wrong"); sqlstate(err) != "28P01" {
		t.Errorf("got %v", err)
	}
	await(t, text, `msg="login refused by the server" address=127.0.0.1:`)
	await(t, text, "reason=28P01 deployment=orders user=postgres\n")
	long := "\x1b[31m" + strings.Repeat("x", 500)
	if _, err := connect(t, address, long+"."+long, "sslmode=disable"); sqlstate(err) != "08001" {
		t.Errorf("got %v", err)
	}
	await(t, text, "reason=08001")
	if said := text.String(); strings.Contains(said, "\x1b") || strings.Contains(said, strings.Repeat("x", 200)) {
		t.Errorf("the log has a name as the client sent it: %q", said)
	}
}

// Which server does not answer is in the log, and nowhere else.
func TestSilentServerIsLogged(t *testing.T) {
	mute := loopback(t).Addr().String()
	log, text := logged()
	_, address := serve(t, postgres.Options{Resolver: table(t, "orders="+mute), AnswerTimeout: 100 * time.Millisecond, Log: log})
	if _, err := connect(t, address, "bob.orders", "sslmode=disable"); sqlstate(err) != "08001" || strings.Contains(err.Error(), mute) {
		t.Errorf("got %v", err)
	}
	await(t, text, "does not answer (SQLSTATE 08001): it was at "+mute)
}
