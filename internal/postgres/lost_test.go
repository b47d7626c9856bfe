package postgres_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// asleep waits until so many sessions of a server run pg_sleep.
func asleep(t *testing.T, see *pgx.Conn, want int) {
	t.Helper()
	eventually(t, "so many sessions sleep", func() bool {
		var n int
		const count = "select count(*) from pg_stat_activity where state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()"
		if err := see.QueryRow(t.Context(), count).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == want
	})
}

// direct is a session that no router knows.
func direct(t *testing.T, server *pgtest.Server) *pgx.Conn {
	t.Helper()
	conn, err := connect(t, server.Address, "postgres", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// bare is a session that has logged in, and nothing but its connection: pgx, when that
// breaks, would send a cancel of its own.
func bare(t *testing.T, address, more string) net.Conn {
	t.Helper()
	conn, err := connect(t, address, "postgres.orders", more)
	if err != nil {
		t.Fatal(err)
	}
	hijacked, err := conn.PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hijacked.Conn.Close() })
	return hijacked.Conn
}

// query sends a statement, and waits for no answer.
func query(t *testing.T, c net.Conn, statement string) {
	t.Helper()
	raw, err := (&pgproto3.Query{String: statement}).Encode(nil)
	if err = errors.Join(err, write(c, raw)); err != nil {
		t.Fatal(err)
	}
}

// done waits until the server has answered all that was asked.
func done(t *testing.T, c net.Conn, status byte) {
	t.Helper()
	for from := pgproto3.NewFrontend(c, c); ; {
		message, err := from.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if ready, ok := message.(*pgproto3.ReadyForQuery); ok && ready.TxStatus == status {
			return
		}
	}
}

// socket is the TCP connection of a session.
func socket(c net.Conn) *net.TCPConn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return c.(*net.TCPConn)
}

// reset closes as a kernel does whose process has died.
func reset(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }

const sleep = "select pg_sleep(600)"

// With cancel-on-disconnect a query ends when its client vanishes, in whichever way.
func TestClientsThatVanish(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	see := direct(t, server)
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address), TLS: certificate(t), CancelOnDisconnect: true})
	vanished := uint64(0)
	for name, c := range map[string]struct {
		more, statement string
		vanish          func(*net.TCPConn) error
	}{
		"orderly":         {"sslmode=disable", sleep, (*net.TCPConn).Close},
		"reset":           {"sslmode=disable", sleep, reset},
		"inside TLS":      {"sslmode=require", sleep, (*net.TCPConn).Close},
		"half-closed":     {"sslmode=disable", sleep, (*net.TCPConn).CloseWrite},
		"COPY TO":         {"sslmode=disable", "copy (select pg_sleep(600)) to stdout", reset},
		"in transactions": {"sslmode=disable", "begin; " + sleep, reset},
	} {
		t.Run(name, func(t *testing.T) {
			conn := bare(t, address, c.more)
			query(t, conn, c.statement)
			asleep(t, see, 1)
			if err := c.vanish(socket(conn)); err != nil {
				t.Fatal(err)
			}
			asleep(t, see, 0)
			vanished++
			eventually(t, "it is counted", func() bool { return router.Cancels().Count(cancel.Vanished) == vanished })
		})
	}
}

// Nothing is cancelled that nobody left under way, and nothing by default.
func TestClientsThatLeaveNothing(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	see := direct(t, server)
	if _, err := see.Exec(t.Context(), "create table kept (n int)"); err != nil {
		t.Fatal(err)
	}
	shut := func(_ *testing.T, c *net.TCPConn) error { return c.Close() }
	goodbye := "X\x00\x00\x00\x04"
	for name, c := range map[string]struct {
		on     bool
		before string
		status byte
		leave  func(*testing.T, *net.TCPConn) error
	}{
		"idle":             {true, "select 1", 'I', shut},
		"idle, reset":      {true, "select 1", 'I', func(_ *testing.T, c *net.TCPConn) error { return reset(c) }},
		"in a transaction": {true, "begin", 'T', shut},
		"goodbye":          {true, "select 1", 'I', func(_ *testing.T, c *net.TCPConn) error { return errors.Join(write(c, []byte(goodbye)), c.Close()) }},
		"goodbye after a statement": {true, "select 1", 'I', func(t *testing.T, c *net.TCPConn) error {
			query(t, c, "insert into kept select 1 from pg_sleep(2)")
			err := write(c, []byte(goodbye))
			asleep(t, see, 1)
			return errors.Join(err, c.Close())
		}},
		"off by default": {false, "select 1", 'I', func(t *testing.T, c *net.TCPConn) error {
			query(t, c, "insert into kept select 2 from pg_sleep(2)")
			asleep(t, see, 1)
			return reset(c)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address), CancelOnDisconnect: c.on})
			conn := bare(t, address, "sslmode=disable")
			query(t, conn, c.before)
			done(t, conn, c.status)
			if err := c.leave(t, socket(conn)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the session is over", func() bool {
				var left int
				const count = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
				err := see.QueryRow(t.Context(), count).Scan(&left)
				return err == nil && left == 0
			})
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if err := router.Leave(ctx); err != nil {
				t.Fatal(err)
			}
			for outcome, n := range router.Cancels().All() {
				if n != 0 {
					t.Errorf("%d cancels are %s", n, outcome)
				}
			}
		})
	}
	eventually(t, "what was left under way is done", func() bool {
		var done string
		if err := see.QueryRow(t.Context(), "select coalesce(string_agg(n::text, ',' order by n), '') from kept").Scan(&done); err != nil {
			t.Fatal(err)
		}
		return done == "1,2"
	})
}

// What a drain has to cut does not go on at the server, and what waits is not cancelled.
func TestDrainCancelsWhatItCuts(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	see := direct(t, server)
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Address)})
	const busy = 20
	for range busy {
		query(t, bare(t, address, "sslmode=disable"), sleep)
	}
	waits := bare(t, address, "sslmode=disable")
	query(t, waits, "begin")
	done(t, waits, 'T')
	asleep(t, see, busy)
	now, cut := context.WithCancel(t.Context())
	cut()
	if err := router.Leave(now); err != nil {
		t.Error(err)
	}
	if n := router.Cancels().Count(cancel.Cut); n != busy {
		t.Errorf("%d are cancelled, want %d", n, busy)
	}
	asleep(t, see, 0)
}

// An endpoint that has left may well live, as the old primary of a failover does: what it
// still does for sessions that were ended there is cancelled.
func TestFenceCancels(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	see := direct(t, server)
	resolver := newEndpoints(server.Address)
	router, address := serve(t, postgres.Options{Resolver: resolver})
	query(t, bare(t, address, "sslmode=disable"), sleep)
	asleep(t, see, 1)
	resolver.set(nil, nil)
	router.Fence(target(server.Address))
	asleep(t, see, 0)
}

// A server that does not take cancels delays the end of the router by seconds, not for good.
func TestDrainWaitsForNoServer(t *testing.T) {
	server := serveKey(t, aKey) // it holds cancels
	router, address := serve(t, postgres.Options{Resolver: table(t, "orders="+server.Addr().String())})
	for range 3 {
		c := login(t, address, "bob.orders", aKey)
		if _, err := io.WriteString(c, "Q\x00\x00\x00\x0dselect 1\x00"); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all wait for an answer", func() bool { return server.asked.Load() == 3 })
	now, cut := context.WithCancel(t.Context())
	cut()
	began := time.Now()
	_ = router.Leave(now)
	if took := time.Since(began); took > 20*time.Second || router.Cancels().Count(cancel.Failed) != 3 {
		t.Errorf("it took %v, and %d cancels failed", took, router.Cancels().Count(cancel.Failed))
	}
}
