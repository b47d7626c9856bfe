package postgres_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// server starts PostgreSQL with pgbench's tables.
func server(b *testing.B) way {
	b.Helper()
	w := direct(pgtest.Start(b, pgtest.Options{Auth: "trust", Settings: map[string]string{"max_connections": "200"}}).Address)
	if out, err := exec.CommandContext(b.Context(), "pgbench", "-i", "-q", "-s", "10", w.dsn()).CombinedOutput(); err != nil {
		b.Fatalf("pgbench -i: %v\n%s", err, out)
	}
	return w
}

// mode is where programs may run.
type mode struct{ name, server, rest string }

var modes = []mode{
	{name: "all processors for all"},
	{name: "server on processor 0, proxy and pgbench on 1", server: "0", rest: "1"},
}

// BenchmarkTransactions is pgbench -S -M prepared with 1, 16 and 64 clients.
func BenchmarkTransactions(b *testing.B) {
	for b.Loop() {
		d := server(b)
		for _, m := range modes {
			pin(b, d, m.server)
			ways := []way{d, pgbouncer(b, m.rest, d.address), gatehouse(b, m.rest, d.address)}
			ways = append(ways, ways[2].overTLS())
			t := table{title: "Transactions: pgbench -S -M prepared; " + m.name}
			t.row("clients", "way", "tps", "of PgBouncer's", "p50 ms", "p99 ms", "of PgBouncer's", "CPU us/transaction")
			for _, clients := range []int{1, 16, 64} {
				all := interleave(ways, func(w way) run { return pgbench(b, w, m.rest, clients, "-S", "-M", "prepared") })
				for _, w := range ways {
					r, base := all[w.name], all["pgbouncer"]
					t.row(clients, w.name, r.of(tps).median(), r.of(tps).over(base.of(tps)).spread(), r.of(p50).median(),
						r.of(p99).median(), r.of(p99).over(base.of(p99)).spread(), r.of(cpu).median())
				}
			}
			t.print(b)
		}
	}
}

// pin keeps the server, and what it starts from now on, on a processor.
func pin(b *testing.B, d way, cpu string) {
	b.Helper()
	if cpu == "" {
		return
	}
	n, _ := strconv.Atoi(cpu)
	var set unix.CPUSet
	set.Set(n)
	if err := unix.SchedSetaffinity(postmaster(b, d), &set); err != nil {
		b.Fatal(err)
	}
}

// postmaster is the server's first process: the file says which it is.
func postmaster(b *testing.B, d way) int {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "psql", d.dsn(), "-Atc", "show data_directory").Output()
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSpace(string(out)) + "/postmaster.pid")
	if err != nil {
		b.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		b.Fatal(err)
	}
	return pid
}

// BenchmarkConnect is pgbench -C: a session for each transaction. PgBouncer hands
// out sessions that it keeps, and so needs no new one of the server.
func BenchmarkConnect(b *testing.B) {
	for b.Loop() {
		d := server(b)
		script := b.TempDir() + "/one.sql"
		if err := os.WriteFile(script, []byte("select 1\n"), 0o600); err != nil {
			b.Fatal(err)
		}
		ways := []way{d, pgbouncer(b, "", d.address), gatehouse(b, "", d.address)}
		ways = append(ways, ways[2].overTLS())
		t := table{title: "Sessions: pgbench -C, select 1"}
		t.row("clients", "way", "sessions/s", "of direct", "added us", "CPU us/session")
		for _, clients := range []int{1, 16} {
			all := interleave(ways, func(w way) run { return pgbench(b, w, "", clients, "-C", "-f", script) })
			base := all["direct"].of(tps)
			for _, w := range ways {
				r := all[w.name]
				added := float64(clients) * 1e6 * (1/r.of(tps).median() - 1/base.median())
				t.row(clients, w.name, r.of(tps).median(), r.of(tps).over(base).spread(), fmt.Sprintf("%.0f", added), r.of(cpu).median())
			}
		}
		t.print(b)
	}
}
