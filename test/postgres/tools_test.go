package postgres_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// The tools that come with PostgreSQL work through the router, those of replication too.
func TestTools(t *testing.T) {
	settings := map[string]string{"wal_level": "logical", "max_wal_senders": "5", "max_replication_slots": "5"}
	publisher, subscriber := pgtest.Start(t, pgtest.Options{Settings: settings}), pgtest.Start(t, pgtest.Options{})
	router := pgtest.Route(t, "--static-backends=orders="+publisher.Address+",copies="+subscriber.Address).Ready(t)
	orders := pgtest.DSN(router.Address, "postgres.orders", "dbname=postgres")
	copies := pgtest.DSN(router.Address, "postgres.copies", "dbname=postgres")
	tool(t, "pgbench", "-q", "-i", "-s", "1", orders)
	t.Run("pgbench", func(t *testing.T) {
		for _, protocol := range []string{"simple", "extended", "prepared"} {
			out := tool(t, "pgbench", "-n", "-c", "4", "-j", "2", "-t", "20", "-M", protocol, orders)
			if !strings.Contains(out, "actually processed: 80/80") {
				t.Errorf("%s: %s", protocol, out)
			}
		}
	})
	t.Run("pg_dump and pg_restore", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "dump")
		tool(t, "pg_dump", "-Fc", "-f", file, "-t", "pgbench_*", orders)
		tool(t, "pg_restore", "-d", copies, file)
		if got := sql(t, copies, "select count(*) from pgbench_accounts"); got != "100000" {
			t.Errorf("%s rows are restored", got)
		}
	})
	t.Run("pg_basebackup", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "backup")
		tool(t, "pg_basebackup", "-D", dir, "-X", "stream", "-c", "fast", "--no-sync", "--status-interval=1", "-v", "-d", orders)
		if _, err := os.Stat(dir + "/backup_manifest"); err != nil {
			t.Error(err)
		}
	})
	t.Run("pg_receivewal", func(t *testing.T) {
		dir := t.TempDir()
		tool(t, "pg_receivewal", "-D", dir, "--slot=wal", "--create-slot", "-d", orders)
		end := sql(t, orders, "select pg_current_wal_lsn()")
		sql(t, orders, "checkpoint") // more of it than is wanted
		tool(t, "pg_receivewal", "-D", dir, "--slot=wal", "--no-loop", "--status-interval=1", "--no-sync", "--endpos="+end, "-d", orders)
		if files, _ := filepath.Glob(dir + "/0*"); len(files) == 0 {
			t.Error("there is no write-ahead log")
		}
	})
	t.Run("logical replication", func(t *testing.T) {
		sql(t, orders, "create table news (text text); insert into news values ('first'); create publication daily for table news")
		sql(t, copies, "create table news (text text)")
		sql(t, copies, "create subscription daily connection '"+strings.ReplaceAll(orders, "'", "''")+"' publication daily")
		sql(t, orders, "insert into news values ('second')")
		eventually(t, "first,second", func() string { return sql(t, copies, "select string_agg(text, ',' order by text) from news") })
		sql(t, copies, "drop subscription daily")
	})
}
