package postgres_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/cancel"
	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery"
	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

const suffix = "db.example"

// passing is a table in which TLS passes through to orders, and not to billing.
func passing(t *testing.T, orders, billing string) *discovery.Table {
	t.Helper()
	var backends []discovery.Backend
	for b := range table(t, "orders="+orders, "billing="+billing).All() {
		b.Passthrough = b.Deployment == "orders"
		backends = append(backends, b)
	}
	return discovery.NewTable(backends)
}

// named connects with pgx to a host name, at an address.
func named(t *testing.T, address, host, login, more string) (*pgx.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	config, err := pgx.ParseConfig(strings.Replace(pgtest.DSN(address, login, more), "host=127.0.0.1", "host="+host, 1))
	if err != nil {
		t.Fatal(err)
	}
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

// A client certificate and channel binding hold from end to end; other deployments, and
// other ways to name this one, end at the router as ever.
func TestPassthrough(t *testing.T) {
	ca := newAuthority(t)
	server := pgtest.Start(t, pgtest.Options{
		TLS:    &pgtest.Secured{Pair: ca.leaf(t, "orders."+suffix), ClientCA: ca.Cert},
		Access: "hostssl all all all scram-sha-256 clientcert=verify-ca",
	})
	plain := pgtest.Start(t, pgtest.Options{})
	_, address := serve(t, postgres.Options{Resolver: passing(t, server.Address, plain.Address), TLS: certificate(t), Suffix: suffix})
	own := ca.leaf(t, "postgres")
	files := " sslrootcert=" + ca.file + " sslcert=" + written(t, "own.crt", own.Cert) + " sslkey=" + written(t, "own.key", own.Key)
	for name, c := range map[string]struct{ login, more, want string }{
		"psql, all of it verified":    {"postgres", "host=orders." + suffix + " sslmode=verify-full channel_binding=require" + files, "in"},
		"psql, in another case":       {"postgres", "host=Orders.DB.example sslmode=verify-ca" + files, "in"},
		"psql without a certificate":  {"postgres", "host=orders." + suffix + " sslmode=require", "connection requires a valid client certificate"},
		"a wrong password":            {"postgres", "password=wrong host=orders." + suffix + " sslmode=require" + files, "password authentication failed"},
		"another deployment by login": {"postgres.billing", "sslmode=require", "in"},
		"another one by host name":    {"postgres", "host=billing." + suffix + " sslmode=require", "in"},
		"by login":                    {"postgres.orders", "sslmode=require", `"orders" is reached by its host name only`},
		"by login in clear":           {"postgres.orders", "sslmode=disable", `connect to the host "orders.db.example"`},
		"by options":                  {"postgres", "sslmode=require options='-c gatehouse.deployment=orders'", `"orders" is reached by its host name only`},
		"a host that nobody knows":    {"postgres", "host=nowhere." + suffix + " sslmode=require", `"nowhere" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			if said := psql(t, address, c.login, "hostaddr=127.0.0.1 "+c.more); !strings.Contains(said, c.want) {
				t.Errorf("psql says %q, want %q", said, c.want)
			}
		})
	}
}

// A query is cancelled inside of TLS, by the host name; direct TLS passes through too.
func TestPassthroughCancel(t *testing.T) {
	ca := newAuthority(t)
	server := pgtest.Start(t, pgtest.Options{Version: pgtest.V17, TLS: &pgtest.Secured{Pair: ca.leaf(t, "orders."+suffix)}})
	_, address := serve(t, postgres.Options{Resolver: passing(t, server.Address, server.Address), Suffix: suffix}) // no TLS of its own
	for _, more := range []string{"", " sslnegotiation=direct"} {
		conn, err := named(t, address, "orders."+suffix, "postgres", "sslmode=verify-full sslrootcert="+ca.file+more)
		if err != nil {
			t.Fatal(err)
		}
		isCancelled(t, conn)
	}
	if _, err := named(t, address, "billing."+suffix, "postgres", "sslmode=require"); err == nil || sqlstate(err) != "" {
		t.Errorf("TLS that nobody answers: %v", err)
	}
	direct := strings.Replace(pgtest.DSN(address, "postgres", "hostaddr=127.0.0.1 sslmode=verify-full sslnegotiation=direct sslrootcert="+ca.file), "host=127.0.0.1", "host=orders."+suffix, 1)
	out, err := exec.CommandContext(t.Context(), pgtest.Program(t, pgtest.V17, "psql"), direct, "-Atc", encrypted).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "true" {
		t.Errorf("psql 17 by direct TLS: %q, %v", out, err)
	}
}

// A session that passes through goes on until the drain is over, and then ends without a
// word and without a reset.
func TestPassthroughLeave(t *testing.T) {
	ca := newAuthority(t)
	server := pgtest.Start(t, pgtest.Options{TLS: &pgtest.Secured{Pair: ca.leaf(t, "orders."+suffix)}})
	router, address := serve(t, postgres.Options{Resolver: passing(t, server.Address, server.Address), TLS: certificate(t), Suffix: suffix})
	conn, err := named(t, address, "orders."+suffix, "postgres", "sslmode=require")
	if err != nil {
		t.Fatal(err)
	}
	askCancel(t, address, aKey)
	if n := router.Cancels().Count(cancel.Unroutable); n != 1 {
		t.Errorf("%d cancels counted that may have been for what passes through, want 1", n)
	}
	over, end := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- router.Leave(over) }()
	for deadline := time.Now().Add(20 * time.Second); ; { // once it has left, nobody is let in
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			break
		}
		_ = c.Close()
		if time.Now().After(deadline) {
			t.Fatal("it still accepts")
		}
	}
	if _, err := conn.Exec(t.Context(), "select 1"); err != nil {
		t.Errorf("while it drains: %v", err)
	}
	end()
	_, err = conn.PgConn().ReceiveMessage(t.Context())
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || sqlstate(err) != "" {
		t.Errorf("at the end: %v", err)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
}

// A look at the host name of a client takes no turn of an endpoint's.
func TestHostNamesTakeNoTurn(t *testing.T) {
	one, two := pgtest.Start(t, pgtest.Options{}), pgtest.Start(t, pgtest.Options{})
	_, address := serve(t, postgres.Options{Resolver: newEndpoints(one.Address, two.Address), TLS: certificate(t), Suffix: suffix})
	seen := map[int]bool{}
	for range 2 {
		conn, err := named(t, address, "orders."+suffix, "postgres", "sslmode=require")
		if err != nil {
			t.Fatal(err)
		}
		var port int
		if err := conn.QueryRow(t.Context(), "select inet_server_port()").Scan(&port); err != nil {
			t.Fatal(err)
		}
		seen[port] = true
	}
	if len(seen) != 2 {
		t.Errorf("two sessions went to %d of two servers", len(seen))
	}
}

// What a client says in TLS reaches the server as it is, however it comes; what is no
// hello reaches nobody.
func TestPassthroughBytes(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard, enough := make(chan []byte, 16), make(chan int, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				request := make([]byte, 8)
				_, _ = io.ReadFull(c, request)
				_, _ = c.Write([]byte{'S'})
				rest := make([]byte, <-enough)
				n, _ := io.ReadFull(c, rest)
				heard <- append(request, rest[:n]...)
			}()
		}
	}()
	_, address := serve(t, postgres.Options{
		Resolver: passing(t, l.Addr().String(), "127.0.0.1:1"), TLS: certificate(t), Suffix: suffix, StartupTimeout: 2 * time.Second,
	})
	hello := helloOf(t, "orders."+suffix, "postgresql")
	request := pgwire.AppendSSLRequest(nil)
	for name, c := range map[string]struct {
		sent    []byte
		segment int
		passes  bool
	}{
		"a hello":                            {hello, 1 << 16, true},
		"a hello in segments of a byte":      {hello, 1, true},
		"a hello and more":                   {append(bytes.Clone(hello), bytes.Repeat([]byte{0x17}, 40_000)...), 1 << 16, true},
		"half a hello":                       {hello[:len(hello)/2], 1 << 16, false},
		"a hello of another host":            {helloOf(t, "orders.elsewhere.example", "postgresql"), 1 << 16, false},
		"a record that goes on for too long": {append([]byte{0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff}, make([]byte, 17<<10)...), 1 << 16, false},
		"no TLS at all":                      {[]byte("hello, is this PostgreSQL? I have come a long way"), 1 << 16, false},
	} {
		for way, first := range map[string][]byte{"asked for": request, "direct": nil} {
			if first == nil && c.sent[0] != 0x16 {
				continue
			}
			t.Run(name+", "+way, func(t *testing.T) {
				if c.passes {
					enough <- len(c.sent)
				}
				said := say(t, address, first, c.sent, c.segment, !c.passes)
				if c.passes {
					if got := <-heard; !bytes.Equal(got, append(bytes.Clone(request), c.sent...)) {
						t.Errorf("the server got %d bytes that were not sent so, of %d", len(got), len(c.sent))
					}
				}
				if len(said) > 0 && bytes.IndexByte([]byte{'E', 0x00}, said[0]) >= 0 {
					t.Errorf("it says %q in clear", said)
				}
			})
		}
	}
	t.Run("direct TLS of another protocol", func(t *testing.T) {
		say(t, address, nil, helloOf(t, "orders."+suffix, "http/1.1"), 1<<16, true)
	})
	if len(heard) > 0 {
		t.Errorf("the server has heard what was not for it: %q", <-heard)
	}
}

// helloOf is what a TLS client says first to a host.
func helloOf(t *testing.T, host, protocol string) []byte {
	t.Helper()
	here, there := net.Pipe()
	defer there.Close()
	said := make(chan []byte, 1)
	go func() {
		b := make([]byte, 1<<14)
		n, _ := there.Read(b)
		_ = there.Close()
		said <- b[:n]
	}()
	_ = tls.Client(here, &tls.Config{ServerName: host, NextProtos: []string{protocol}}).HandshakeContext(t.Context()) // nobody answers
	return <-said
}

// say sends the request for TLS, if any, and then bytes in segments, and returns what
// came in answer until the end. It may close its own half.
func say(t *testing.T, address string, first, sent []byte, segment int, end bool) []byte {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if len(first) > 0 {
		answer := make([]byte, 1)
		if _, err := c.Write(first); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, answer); err != nil || answer[0] != 'S' {
			t.Fatalf("the request is answered with %q, %v", answer, err)
		}
	}
	for len(sent) > 0 {
		n := min(segment, len(sent))
		if _, err := c.Write(sent[:n]); err != nil {
			break // it is closed already
		}
		sent = sent[n:]
	}
	if end {
		_ = c.(*net.TCPConn).CloseWrite()
	}
	said, _ := io.ReadAll(c)
	return said
}

// A server that offers no TLS is not spoken to in clear.
func TestPassthroughNeedsTLS(t *testing.T) {
	plain := pgtest.Start(t, pgtest.Options{})
	log, text := logged()
	_, address := serve(t, postgres.Options{Resolver: passing(t, plain.Address, plain.Address), TLS: certificate(t), Suffix: suffix, Log: log})
	_, err := named(t, address, "orders."+suffix, "postgres", "sslmode=require")
	if _, told := errors.AsType[*pgconn.PgError](err); err == nil || told {
		t.Errorf("got %v", err)
	}
	await(t, text, "ssl = on")
}
