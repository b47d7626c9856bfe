package postgres_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// When an endpoint leaves, what is at it ends, and a pool goes on at the other one.
func TestFence(t *testing.T) {
	old, next := pgtest.Start(t, pgtest.Options{}), pgtest.Start(t, pgtest.Options{})
	resolver := newEndpoints(old.Address)
	router, address := serve(t, postgres.Options{Resolver: resolver})
	pool, err := pgxpool.New(t.Context(), pgtest.DSN(address, "postgres.orders", "sslmode=disable dbname=postgres pool_max_conns=4"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	port := func(ctx context.Context) (port int, err error) {
		err = pool.QueryRow(ctx, "select inet_server_port()").Scan(&port)
		return port, err
	}
	if p, err := port(t.Context()); err != nil || p != old.Port {
		t.Fatalf("port %d, %v", p, err)
	}
	busy, err := connect(t, address, "postgres.orders", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := busy.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	resolver.set([]string{next.Address}, nil)
	router.Fence(target(old.Address))
	fenced := time.Now()
	if _, err := busy.Exec(t.Context(), "select 1"); sqlstate(err) != session.AdminShutdown || !strings.Contains(err.Error(), "left this deployment") {
		t.Errorf("inside the transaction: %v", err)
	}
	for {
		p, err := port(t.Context())
		if err == nil && p == next.Port {
			break
		}
		if err != nil && sqlstate(err) != session.AdminShutdown || err == nil {
			t.Errorf("the pool gets port %d, %v", p, err)
		}
		if time.Since(fenced) > 10*time.Second {
			t.Fatal("the pool does not come back")
		}
	}
	t.Logf("the pool is back after %v", time.Since(fenced))
}

// An endpoint that is not ready any more gets no new sessions, and keeps those it has.
func TestFlapsCutNobody(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	resolver := newEndpoints(server.Address)
	_, address := serve(t, postgres.Options{Resolver: resolver, DialTimeout: 100 * time.Millisecond})
	conn, err := connect(t, address, "postgres.orders", "sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		resolver.set(nil, []string{server.Address})
		if _, err := connect(t, address, "postgres.orders", "sslmode=disable"); sqlstate(err) != session.CannotConnectNow {
			t.Errorf("not ready: %v", err)
		}
		if _, err := conn.Exec(t.Context(), "select 1"); err != nil {
			t.Errorf("the transaction is cut: %v", err)
		}
		resolver.set([]string{server.Address}, nil)
	}
	if _, err := conn.Exec(t.Context(), "commit"); err != nil {
		t.Error(err)
	}
}

// script is a server that sends some bytes to whoever connects, and counts who is there.
type script struct {
	net.Listener
	open atomic.Int32
}

func serveScript(t *testing.T, l net.Listener, answer string) *script {
	t.Helper()
	s := &script{Listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.open.Add(1)
			go func() {
				defer s.open.Add(-1)
				defer c.Close()
				_, _ = io.WriteString(c, answer)
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
	return s
}

// loggedIn is what a server says until it is ready.
const loggedIn = "R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I"

// Last words are said between messages of the server only.
func TestFenceAtAnyByte(t *testing.T) {
	for sent, want := range map[string]string{
		"":                                    "E",
		loggedIn:                              loggedIn + "E",
		loggedIn + "D":                        loggedIn + "D",
		loggedIn + "D\x00\x00\x00\x20" + "ab": loggedIn + "D\x00\x00\x00\x20" + "ab",
	} {
		server := serveScript(t, loopback(t), sent)
		resolver := newEndpoints(server.Addr().String())
		router, address := serve(t, postgres.Options{Resolver: resolver})
		client := start(t, address, "bob.orders")
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(client, got); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the session has its server", func() bool {
			orders := router.Routes()[0]
			return orders.Sessions == 1 && orders.Waiting == 0
		})
		resolver.set(nil, nil)
		router.Fence(target(server.Addr().String()))
		rest, err := io.ReadAll(client)
		got = append(got, rest...)
		if err != nil || !strings.HasPrefix(string(got), want) || strings.HasSuffix(want, "E") != strings.Contains(string(got), "57P01") {
			t.Errorf("after %q: got %q, %v", sent, got, err)
		}
	}
}

// Whatever comes first, the session or the fence: none is left at an endpoint that left.
func TestFenceMissesNobody(t *testing.T) {
	servers := []*script{serveScript(t, loopback(t), loggedIn), serveScript(t, loopback(t), loggedIn)}
	resolver := newEndpoints(servers[0].Addr().String())
	router, address := serve(t, postgres.Options{Resolver: resolver})
	for round := range 20 {
		gone, here := servers[round%2], servers[(round+1)%2]
		var clients []net.Conn
		for range 20 {
			clients = append(clients, start(t, address, "bob.orders"))
		}
		resolver.set([]string{here.Addr().String()}, nil)
		router.Fence(target(gone.Addr().String()))
		eventually(t, "nobody is left", func() bool { return gone.open.Load() == 0 })
		for _, c := range clients {
			if said, err := firstMessage(c); err != nil || said[0] != 'R' && !(said[0] == 'E' && strings.Contains(said, "C57P01\x00")) {
				t.Errorf("neither a login nor the word of the fence: %q, %v", said, err)
			}
			_ = c.Close()
		}
		eventually(t, "nobody is left", func() bool { return gone.open.Load() == 0 && here.open.Load() == 0 })
	}
}

// firstMessage reads the first message that a client gets.
func firstMessage(c net.Conn) (string, error) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(c, header); err != nil {
		return string(header), err
	}
	body := make([]byte, min(max(int(binary.BigEndian.Uint32(header[1:]))-4, 0), 1<<16))
	_, err := io.ReadFull(c, body)
	return string(header) + string(body), err
}

// start opens a session without TLS, and leaves the rest of it to the caller.
func start(t *testing.T, address, login string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := errors.Join(c.SetDeadline(time.Now().Add(20*time.Second)), write(c, startup(t, login))); err != nil {
		t.Fatal(err)
	}
	return c
}

func write(c net.Conn, b []byte) error {
	_, err := c.Write(b)
	return err
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s", what)
		}
	}
}
