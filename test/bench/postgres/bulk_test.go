package postgres_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// bulk are what moves many bytes. Rows are long, so that the server is not what
// takes the time.
var bulk = []struct {
	name string
	do   func(context.Context, *pgconn.PgConn) error
}{
	{"result of 64 MiB", func(ctx context.Context, c *pgconn.PgConn) error {
		_, err := c.Exec(ctx, "select repeat('x', 1 << 20) from generate_series(1, 64)").ReadAll()
		return err
	}},
	{"COPY of 600 MB to the client", func(ctx context.Context, c *pgconn.PgConn) error {
		_, err := c.CopyTo(ctx, io.Discard, "copy (select repeat('x', 9999) from generate_series(1, 60000)) to stdout")
		return err
	}},
	{"COPY of 600 MB from the client", func(ctx context.Context, c *pgconn.PgConn) error {
		if _, err := c.Exec(ctx, "create temporary table t (line text)").ReadAll(); err != nil {
			return err
		}
		_, err := c.CopyFrom(ctx, &lines{left: 60000}, "copy t from stdin where false")
		return err
	}},
}

// lines are so many lines of 10,000 bytes.
type lines struct{ left, at int }

func (l *lines) Read(p []byte) (int, error) {
	for i := range p {
		if l.left == 0 {
			return i, io.EOF
		}
		p[i] = 'x'
		if l.at++; l.at == 10_000 {
			p[i], l.at = '\n', 0
			l.left--
		}
	}
	return len(p), nil
}

// BenchmarkBulk compares with a relay that only copies.
func BenchmarkBulk(b *testing.B) {
	for b.Loop() {
		d := server(b)
		ways := []way{d, copier(b, d.address), pgbouncer(b, "", d.address), gatehouse(b, "", d.address)}
		ways = append(ways, ways[3].overTLS())
		t := table{title: "Bulk"}
		t.row("what", "way", "seconds", "of io.Copy's", "CPU seconds")
		for _, what := range bulk {
			all := interleave(ways, func(w way) run {
				begin, before := time.Now(), w.process.cpu(b)
				if err := session(b.Context(), w, what.do); err != nil {
					b.Fatalf("%s through %s: %v", what.name, w.name, err)
				}
				return run{tps: since(begin), cpu: w.process.cpu(b) - before}
			})
			base := all["io.Copy"].of(tps)
			for _, w := range ways {
				r := all[w.name]
				t.row(what.name, w.name, r.of(tps).median(), r.of(tps).over(base).spread(), r.of(cpu).median())
			}
		}
		t.print(b)
	}
}

func session(ctx context.Context, w way, do func(context.Context, *pgconn.PgConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	c, err := pgconn.Connect(ctx, w.dsn())
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	return do(ctx, c)
}
