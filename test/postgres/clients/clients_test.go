package clients_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-proxy/gatehouse/pkg/tlsutil"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// line is what a driver says about a case.
type line struct{ Case, Value, SQLState, Error string }

// Without an error the value must be as wanted; with one, the SQLSTATE, and the error has
// the text.
var wanted = []line{
	{Case: "login", Value: "a.b|postgres"},
	{Case: "password", SQLState: "28P01", Error: `password authentication failed for user "a.b"`},
	{Case: "cancel", SQLState: "57014", Error: "canceling statement due to user request"},
	{Case: "parameter", Value: "1048576"},
	{Case: "result", Value: "67108864"},
	{Case: "notify", Value: "hello"},
	{Case: "prepared", Value: "42,43"},
	{Case: "copy in", Value: "10000"},
	{Case: "copy out", Value: "10000"},
	{Case: "waiting"},
	{Case: "restart", SQLState: "57P01"},
}

// playTime bounds all cases of one driver, and noticeTime how soon it sees that the
// server has ended.
const playTime, noticeTime = 3 * time.Minute, time.Second

func TestDrivers(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	role(t, server)
	authority, router := route(t, server)
	host, port, _ := net.SplitHostPort(router.Address)
	for _, d := range chosen(t) {
		for mode, file := range map[string]string{"in clear": "", "TLS": authority} {
			t.Run(d.name+", "+mode, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), playTime)
				defer cancel()
				cmd := d.command(ctx, t)
				if file != "" {
					host = "localhost" // the name that it verifies
				}
				cmd.Args = append(cmd.Args, host, port, "a.b.orders", pgtest.Password, file)
				d.compare(t, play(t, cmd, server))
			})
		}
	}
}

// role makes a role with a dot in its name, who may do everything.
func role(t *testing.T, server *pgtest.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(server.Address, "postgres", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `create role "a.b" superuser login password '`+pgtest.Password+"'"); err != nil {
		t.Fatal(err)
	}
}

// route starts a router with a certificate, and returns the file of who signed that.
func route(t *testing.T, server *pgtest.Server) (authority string, router *pgtest.Router) {
	t.Helper()
	valid := tlsutil.From(time.Now(), time.Hour)
	ca, err := tlsutil.NewCA("drivers", valid)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Leaf(valid, "localhost")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string][]byte{"ca.pem": ca.Cert, "tls.crt": leaf.Cert, "tls.key": leaf.Key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	router = pgtest.Route(t, "--static-backends", "orders="+server.Address,
		"--tls-cert-file", dir+"/tls.crt", "--tls-key-file", dir+"/tls.key")
	return dir + "/ca.pem", router.Ready(t)
}

// play runs a driver and returns what it says. Once it waits, the server is restarted.
func play(t *testing.T, cmd *exec.Cmd, server *pgtest.Server) []line {
	t.Helper()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []line
	var stopped time.Time
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var l line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Errorf("it says %q: %v", scan.Text(), err)
			continue
		}
		said = append(said, l)
		if l.Case == "waiting" {
			sleeping(t, server)
			server.Stop()
			stopped = time.Now()
		}
	}
	if took := time.Since(stopped); took > noticeTime && !stopped.IsZero() {
		t.Errorf("it sees %v after the server's end that it has ended, want %v", took, noticeTime)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, &complaints)
	}
	server.Start(t)
	return said
}

// sleeping waits until the server runs a query that only sleeps.
func sleeping(t *testing.T, server *pgtest.Server) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(server.Address, "postgres", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for deadline, n := time.Now().Add(30*time.Second), 0; n == 0; {
		const query = "select count(*) from pg_stat_activity where state = 'active' and wait_event = 'PgSleep'"
		if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil || time.Now().After(deadline) {
			t.Fatalf("no query sleeps: %v", err)
		}
	}
}

// compare tells what a driver should have said.
func (d driver) compare(t *testing.T, said []line) {
	t.Helper()
	expect := slices.DeleteFunc(slices.Clone(wanted), func(l line) bool { return slices.Contains(d.lacks, l.Case) })
	for i, want := range expect {
		if i >= len(said) {
			t.Errorf("it says nothing of %q", want.Case)
			continue
		}
		if own := slices.IndexFunc(d.instead, func(l line) bool { return l.Case == want.Case }); own >= 0 {
			want = d.instead[own]
		}
		got := said[i]
		if got.Case != want.Case || got.Value != want.Value || got.SQLState != want.SQLState || !strings.Contains(got.Error, want.Error) {
			t.Errorf("it says %+v, want %+v", got, want)
		}
	}
}
