package pgwire_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// psqlScript has what people do: errors, transactions, COPY both ways, notifications.
const psqlScript = `
select generate_series(1, 1000);
select 1 / 0;
begin; insert into numbers values (1); select oops; rollback;
\copy numbers from stdin
1
2
\.
\copy numbers from stdin
3
four
\.
copy numbers from stdin;
5
\.
copy numbers to stdout;
select 1; select 2 \; select 3;
listen l; notify l; notify l, 'x';
do $$ begin raise notice 'notice'; end $$;
`

// pipeline is a script of pgbench that sends on without waiting.
const pipeline = `
\startpipeline
begin;
insert into numbers values (1);
select 1;
end;
\endpipeline
select count(*) from numbers;
`

// TestPostgres holds all of this against a real server.
func TestPostgres(t *testing.T) {
	server := startPostgres(t)
	t.Run("recordings", func(t *testing.T) { testRecordings(t, server) })
	t.Run("truth", func(t *testing.T) { testTruth(t, server) })
	t.Run("options", func(t *testing.T) { testOptions(t, server) })
	t.Run("packets", func(t *testing.T) { testPackets(t, server) })
}

// testRecordings records real clients, and compares trackers with pgproto3.
func testRecordings(t *testing.T, server string) {
	clients := map[string]func(t *testing.T, dir string){
		"psql": func(t *testing.T, dir string) {
			file := filepath.Join(t.TempDir(), "script.sql")
			write(t, file, psqlScript)
			run(t, "psql", "-h", dir, "-U", "scram", "-X", "-q", "-o", os.DevNull, "-f", file, "postgres")
		},
		"psql with MD5": func(t *testing.T, dir string) {
			run(t, "psql", "-h", dir, "-U", "md5", "-X", "-c", "select 1", "postgres")
		},
		"pgbench simple":   pgbench("-M", "simple"),
		"pgbench extended": pgbench("-M", "extended"),
		"pgbench prepared": pgbench("-M", "prepared", "-c", "3"),
		"pg_basebackup": func(t *testing.T, dir string) {
			run(t, "pg_basebackup", "-h", dir, "-U", "postgres", "-D", filepath.Join(t.TempDir(), "backup"), "-X", "stream", "-c", "fast")
		},
		"pg_dump": func(t *testing.T, dir string) {
			run(t, "pg_dump", "-h", dir, "-U", "postgres", "-f", os.DevNull, "postgres")
		},
		"pgx": pgxClient,
	}
	grant(t, server)
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			recorder := startRecorder(t, server)
			client(t, recorder.dir)
			sessions, total := recorder.ended(t), 0
			for _, s := range sessions {
				total += s.compare(t)
				if s.atEnd != "idle" && name != "pg_dump" { // which leaves in its transaction
					t.Errorf("when the client said goodbye, tracker said %q", s.atEnd)
				}
			}
			if total < 10 {
				t.Errorf("%d messages in %d sessions: too few to prove anything", total, len(sessions))
			}
		})
	}
}

func grant(t *testing.T, server string) {
	t.Helper()
	if _, err := connect(t, server, "postgres").Exec(t.Context(), "grant all on numbers to public"); err != nil {
		t.Fatal(err)
	}
}

func pgbench(args ...string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		file := filepath.Join(t.TempDir(), "pipeline.sql")
		script := pipeline
		if args[1] == "simple" {
			script = strings.NewReplacer(`\startpipeline`, "", `\endpipeline`, "").Replace(script)
		}
		write(t, file, script)
		run(t, "pgbench", append(args, "-h", dir, "-U", "postgres", "-n", "-t", "20", "-f", file, "postgres")...)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a client of PostgreSQL to its end. Errors in psql's script are wanted.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(postgresBin, name), args...)
	command.Env = append(os.Environ(), "PGPASSWORD=secret", "PGSSLMODE=disable", "PGGSSENCMODE=disable")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// pgxClient uses pgx in its ways to speak: prepared, simple, batches, COPY, pipelines.
func pgxClient(t *testing.T, dir string) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	c := connect(t, dir, "scram")
	batch := &pgx.Batch{}
	for i := range 50 {
		batch.Queue("insert into numbers values ($1)", i)
	}
	if err := c.SendBatch(ctx, batch).Close(); err != nil {
		t.Fatal(err)
	}
	rows := pgx.CopyFromSlice(1000, func(i int) ([]any, error) { return []any{i}, nil })
	if n, err := c.CopyFrom(ctx, pgx.Identifier{"numbers"}, []string{"n"}, rows); err != nil || n != 1000 {
		t.Fatalf("%d rows copied, %v", n, err)
	}
	broken := pgx.CopyFromSlice(2, func(i int) ([]any, error) { return []any{i}, errWanted })
	if _, err := c.CopyFrom(ctx, pgx.Identifier{"numbers"}, []string{"n"}, broken); err == nil {
		t.Fatal("a COPY whose rows fail succeeds")
	}
	var failure *pgconn.PgError
	if _, err := c.Exec(ctx, "select $1::int / 0", 1); !errors.As(err, &failure) {
		t.Fatal(err)
	}
	if err := brokenPipeline(ctx, c.PgConn()); err != nil {
		t.Fatal(err)
	}
	closeSession(c)
}

var errWanted = errors.New("wanted")

// brokenPipeline sends commands of which one fails between two Syncs.
func brokenPipeline(ctx context.Context, c *pgconn.PgConn) error {
	p := c.StartPipeline(ctx)
	for _, statement := range []string{"select 1", "select 1 / 0", "select 2"} {
		p.SendQueryParams(statement, nil, nil, nil, nil)
		if err := p.Sync(); err != nil {
			return err
		}
		p.SendQueryParams(statement, nil, nil, nil, nil)
	}
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.Close(); err == nil {
		return errors.New("a division by zero succeeds in a pipeline")
	}
	return nil
}
