package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// rollTime bounds how long a router may take to leave: its grace, and a little.
const rollTime = 40 * time.Second

// Two replicas are replaced, one after the other, under a pool and under pgbench, which
// connects for each transaction. Whatever was not answered with 57P01 is in the table
// once, and what was is not: there are no other errors.
func TestRollOut(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Auth: "trust"})
	conn := monitor(t, server)
	if _, err := conn.Exec(t.Context(), "create table pooled (id bigint); create table benched (id bigserial)"); err != nil {
		t.Fatal(err)
	}
	start := func() *pgtest.Router { return pgtest.Route(t, "--static-backends=orders="+server.Address).Ready(t) }
	old := []*pgtest.Router{start(), start()}
	b := balance(t, old...)
	pool := newPool(t, b.address)
	bench := newBench(t, b.address)
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() { pool.insert(t, stop) })
	}
	load.Go(func() { bench.insert(t, stop) })
	for _, r := range old {
		pool.goesOn(t)
		b.add(t, start())
		r.Signal(t, syscall.SIGTERM)
		if err := r.Wait(t, rollTime); err != nil {
			t.Errorf("a router ends with %v", err)
		}
	}
	pool.goesOn(t)
	close(stop)
	load.Wait()
	pool.compare(t, conn)
	bench.compare(t, conn)
	t.Logf("%d inserts by the pool, %d of them again after 57P01; %d by pgbench", pool.done.Load(), pool.again.Load(), bench.done)
	if pool.again.Load() == 0 {
		t.Error("the roll-out ended no session of the pool: it proves nothing")
	}
}

// pool inserts numbers, each again until it is told that it is there.
type pool struct {
	*pgxpool.Pool
	last, done, again atomic.Int64
}

func newPool(t *testing.T, address string) *pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.DSN(address, "postgres.orders", "sslmode=prefer pool_max_conns=8"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &pool{Pool: p}
}

// insert inserts until stop, every other number in a transaction of several messages.
func (p *pool) insert(t *testing.T, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		id := p.last.Add(1)
		for err := p.try(t.Context(), id); err != nil; err = p.try(t.Context(), id) {
			if sqlstate(err) != "57P01" {
				t.Errorf("insert %d: %v", id, err)
				return
			}
			p.again.Add(1)
		}
		p.done.Add(1)
	}
}

func (p *pool) try(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if id%2 == 0 {
		_, err := p.Exec(ctx, "insert into pooled values ($1)", id)
		return err
	}
	return pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "insert into pooled values ($1)", id)
		return err
	})
}

// goesOn waits until some more numbers are there.
func (p *pool) goesOn(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.Now().Add(30 * time.Second)
	for want := p.done.Load() + 100; p.done.Load() < want; <-tick.C {
		if time.Now().After(late) {
			t.Fatal("the pool inserts nothing any more")
		}
	}
}

func (p *pool) compare(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	var rows, distinct int64
	if err := conn.QueryRow(t.Context(), "select count(*), count(distinct id) from pooled").Scan(&rows, &distinct); err != nil {
		t.Fatal(err)
	}
	if done := p.done.Load(); rows != done || distinct != done {
		t.Errorf("of %d numbers there are %d in %d rows", done, distinct, rows)
	}
}

// bench counts the transactions that pgbench counts.
type bench struct {
	address, script string
	done            int64
}

func newBench(t *testing.T, address string) *bench {
	t.Helper()
	script := filepath.Join(t.TempDir(), "insert.sql")
	if err := os.WriteFile(script, []byte("insert into benched default values;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &bench{address: address, script: script}
}

// What pgbench says of its transactions, and of clients that it gives up.
var (
	processed = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`)
	ended     = regexp.MustCompile(`(?m)^pgbench: error: .*`)
)

// insert runs pgbench until stop. A client whose session was ended before its query is
// given up by pgbench, which does not connect again.
func (b *bench) insert(t *testing.T, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "pgbench", "-n", "-C", "-c", "2", "-t", "50", "-f", b.script, pgtest.DSN(b.address, "postgres.orders", "dbname=postgres"))
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil && !onlyEnded(stderr.String()) {
			t.Errorf("pgbench: %v\n%s", err, &stderr)
			return
		}
		if found := processed.FindStringSubmatch(stdout.String()); found != nil {
			n, _ := strconv.ParseInt(found[1], 10, 64)
			b.done += n
		}
	}
}

// onlyEnded tells whether all that pgbench complains of are sessions that ended at idle.
func onlyEnded(complaints string) bool {
	for _, line := range ended.FindAllString(complaints, -1) {
		if !strings.Contains(line, "terminating connection") && !strings.Contains(line, "Run was aborted") {
			return false
		}
	}
	return true
}

func (b *bench) compare(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	var rows int64
	if err := conn.QueryRow(t.Context(), "select count(*) from benched").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows != b.done || rows == 0 {
		t.Errorf("pgbench counts %d transactions, the table %d", b.done, rows)
	}
}

// sqlstate is that of an error, empty for none and for one that is no server's.
func sqlstate(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
