package postgres_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/session"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/tlsstore"
)

// A client waits for a deployment that has no server that is ready, and gets the one
// that comes.
func TestHoldUntilReady(t *testing.T) {
	server := serveScript(t, loopback(t), loggedIn)
	resolver := newEndpoints()
	_, address := serve(t, postgres.Options{Resolver: resolver, DialTimeout: 20 * time.Second})
	client := start(t, address, "bob.orders")
	resolver.set(nil, []string{server.Addr().String()})
	resolver.set([]string{server.Addr().String()}, nil)
	expect(t, client, loggedIn)
}

// A server that starts late gets the clients that came before.
func TestHoldUntilItListens(t *testing.T) {
	late, open := reserve(t)
	resolver := newEndpoints(late)
	_, address := serve(t, postgres.Options{Resolver: resolver, DialTimeout: 20 * time.Second})
	client := start(t, address, "bob.orders")
	_ = client.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := client.Read(make([]byte, 1)); err == nil || err == io.EOF { //nolint:errorlint // as io.Reader has it
		t.Fatalf("it does not wait: %v", err)
	}
	_ = client.SetReadDeadline(time.Now().Add(20 * time.Second))
	serveScript(t, open(), loggedIn)
	expect(t, client, loggedIn)
}

// Where one endpoint cannot be reached another one is tried at once.
func TestAnotherEndpoint(t *testing.T) {
	dead, _ := reserve(t)
	server := serveScript(t, loopback(t), loggedIn)
	resolver := newEndpoints(dead, server.Addr().String())
	_, address := serve(t, postgres.Options{Resolver: resolver, DialTimeout: 20 * time.Second})
	for range 4 {
		expect(t, start(t, address, "bob.orders"), loggedIn)
	}
}

// What a client is told that has waited in vain.
func TestInVain(t *testing.T) {
	dead, _ := reserve(t)
	for name, c := range map[string]struct {
		ready []string
		want  string
	}{
		"nothing is ready":      {nil, session.CannotConnectNow},
		"nothing can be dialed": {[]string{dead}, session.ConnectionFailed},
	} {
		t.Run(name, func(t *testing.T) {
			log, text := logged()
			_, address := serve(t, postgres.Options{Resolver: newEndpoints(c.ready...), DialTimeout: 200 * time.Millisecond, Log: log})
			began := time.Now()
			_, err := connect(t, address, "bob.orders", "sslmode=disable")
			if sqlstate(err) != c.want || time.Since(began) < 200*time.Millisecond || strings.Contains(err.Error(), dead) {
				t.Errorf("after %v: %v, want SQLSTATE %s", time.Since(began), err, c.want)
			}
			await(t, text, "deployment=orders user=bob reason="+c.want)
			if c.ready != nil {
				await(t, text, "dial tcp "+dead+": connect: connection refused") // which server, and why
			}
		})
	}
}

// A client that has sent the rest of its login already waits like any other, and none of
// it is lost.
func TestHoldOfAPipeline(t *testing.T) {
	server := echoServer(t)
	resolver := newEndpoints()
	_, address := serve(t, postgres.Options{Resolver: resolver, DialTimeout: 20 * time.Second})
	client := start(t, address, "bob.orders")
	query := "Q\x00\x00\x00\x0dselect 1\x00"
	if err := write(client, []byte(query)); err != nil {
		t.Fatal(err)
	}
	resolver.set([]string{server}, nil)
	expect(t, client, query)
}

// echoServer answers with what follows the startup packet.
func echoServer(t *testing.T) (address string) {
	t.Helper()
	l := loopback(t)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		var length [4]byte
		_, _ = io.ReadFull(c, length[:])
		_, _ = io.CopyN(io.Discard, c, int64(length[3])-4+int64(length[2])<<8)
		_, _ = io.Copy(c, c)
	}()
	return l.Addr().String()
}

// A client that gives up while it is held makes room for another.
func TestHoldEndsWithTheClient(t *testing.T) {
	store, err := tlsstore.Memory(tlsstore.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for name, dress := range map[string]func(net.Conn) net.Conn{
		"in clear": func(c net.Conn) net.Conn { return c },
		"in TLS": func(c net.Conn) net.Conn {
			return tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"postgresql"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			router, address := serve(t, postgres.Options{
				Resolver: newEndpoints(), TLS: store, Connections: 1, DialTimeout: time.Hour,
			})
			hold := func() net.Conn {
				c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				c = dress(c)
				if err := write(c, startup(t, "bob.orders")); err != nil {
					t.Fatal(err)
				}
				return c
			}
			full := func() bool {
				_, err := connect(t, address, "bob.nowhere", "sslmode=disable")
				return sqlstate(err) == session.TooManyConnections
			}
			first := hold()
			eventually(t, "the client is held", func() bool { return postgres.Sessions(router) == 1 })
			if !full() {
				t.Error("there is another place")
			}
			_ = first.Close()
			eventually(t, "the place is free", func() bool { return !full() })
		})
	}
}

// A router that goes away does not let clients wait.
func TestHoldEndsWithTheRouter(t *testing.T) {
	router, address := serve(t, postgres.Options{Resolver: newEndpoints(), DialTimeout: time.Hour})
	client := start(t, address, "bob.orders")
	eventually(t, "the client is held", func() bool { return postgres.Sessions(router) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := router.Leave(ctx); err != nil {
		t.Error(err)
	}
	told, err := io.ReadAll(client)
	if err != nil || !strings.Contains(string(told), session.AdminShutdown) {
		t.Errorf("told %q, %v", told, err)
	}
}

// reserve takes a port on which nobody listens until open is called.
func reserve(t *testing.T) (address string, open func() net.Listener) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "reserved")
	t.Cleanup(func() { _ = file.Close() })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := name.(*unix.SockaddrInet4).Port
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), func() net.Listener {
		t.Helper()
		if err := unix.Listen(fd, 128); err != nil {
			t.Fatal(err)
		}
		l, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
}

// loopback listens on any free port.
func loopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func expect(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
