package postgres_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-proxy/gatehouse/pkg/pgwire"
	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
)

// chaosSessions misbehave, so many at a time.
const chaosSessions, chaosAtOnce = 10_000, 40

// Ten thousand clients that vanish, break off, reset, talk nonsense or cancel what is not
// theirs, while sessions are killed at the server: afterwards the router has no more
// descriptors and goroutines than before, the server no session, and clients are served.
func TestChaos(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{Auth: "trust"})
	router := pgtest.Route(t, "--static-backends=orders="+server.Address).Ready(t)
	conn := monitor(t, server)
	storm(t, router.Address, 200) // whatever is made once is there
	quiet(t, conn)
	before := settled(t, router, 0)
	killed := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() { defer close(killed); kill(ctx, t, server) }()
	storm(t, router.Address, chaosSessions)
	stop()
	<-killed
	quiet(t, conn)
	after := settled(t, router, before)
	t.Logf("%d descriptors before, %d after", before, after)
	if out := sql(t, pgtest.DSN(router.Address, "postgres.orders", "dbname=postgres"), "select 1"); out != "1" {
		t.Errorf("a client afterwards gets %q", out)
	}
	if text := router.Log.String(); strings.Contains(text, "ended by a bug") {
		t.Errorf("a bug: %s", text)
	}
	fresh := pgtest.Route(t, "--static-backends=orders="+server.Address).Ready(t)
	if used, unused := goroutines(t, router), goroutines(t, fresh); used > unused+10 {
		t.Errorf("%d goroutines after the storm, %d in a router without one: %s", used, unused, router.Log)
	}
}

// storm plays so many sessions, none of which must end well.
func storm(t *testing.T, address string, sessions int) {
	t.Helper()
	var wg sync.WaitGroup
	for worker := range chaosAtOnce {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 7))
			for range sessions / chaosAtOnce {
				misbehave(t.Context(), random, address)
			}
		})
	}
	wg.Wait()
}

// misbehave is one session. Whatever it meets is fine: the router is looked at afterwards.
func misbehave(ctx context.Context, random *rand.Rand, address string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer plain.Close()
	_ = plain.SetDeadline(time.Now().Add(20 * time.Second))
	c := plain.(*net.TCPConn)
	if random.IntN(2) == 0 {
		_ = c.SetLinger(0) // the end is a reset
	}
	acts := []func(context.Context, *rand.Rand, *net.TCPConn){nothing, noise, half, garbledTLS, abandonedTLS, foreignCancel, nowhere, midQuery, goodbye}
	acts[random.IntN(len(acts))](ctx, random, c)
}

func nothing(context.Context, *rand.Rand, *net.TCPConn) {}

func noise(_ context.Context, random *rand.Rand, c *net.TCPConn) {
	_, _ = c.Write(scramble(random, 200))
}

func scramble(random *rand.Rand, most int) []byte {
	out := make([]byte, 1+random.IntN(most))
	for i := range out {
		out[i] = byte(random.Uint32())
	}
	return out
}

// startup is the packet of a login.
func startup(login string) []byte {
	var p pgwire.Parameters
	p.Set("user", login)
	p.Set("database", "postgres")
	packet, _ := pgwire.Packet{Kind: pgwire.Startup, Version: pgwire.Version30, Parameters: p}.Append(nil)
	return packet
}

func half(_ context.Context, random *rand.Rand, c *net.TCPConn) {
	packet := startup("postgres.orders")
	_, _ = c.Write(packet[:random.IntN(len(packet))])
}

// request is a packet of 8 bytes with a code: 80877103 asks for TLS.
func request(code uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), code)
}

const askTLS, askGSS, cancelCode = 80877103, 80877104, 80877102

func garbledTLS(_ context.Context, random *rand.Rand, c *net.TCPConn) {
	if random.IntN(2) == 0 {
		_, _ = c.Write(append([]byte{0x16, 3, 1}, scramble(random, 100)...))
		return
	}
	_, _ = c.Write(request(askTLS))
	_, _ = io.ReadFull(c, make([]byte, 1))
	_, _ = c.Write(scramble(random, 100))
}

// abandonedTLS leaves right after a handshake, or inside a session.
func abandonedTLS(ctx context.Context, random *rand.Rand, c *net.TCPConn) {
	_, _ = c.Write(request(askTLS))
	_, _ = io.ReadFull(c, make([]byte, 1))
	secured := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	if secured.HandshakeContext(ctx) == nil && random.IntN(2) == 0 {
		_, _ = secured.Write(startup("postgres.orders"))
		_, _ = io.ReadFull(secured, make([]byte, 20))
	}
}

func foreignCancel(_ context.Context, random *rand.Rand, c *net.TCPConn) {
	packet := binary.BigEndian.AppendUint32(nil, 16)
	packet = binary.BigEndian.AppendUint32(packet, cancelCode)
	packet = binary.BigEndian.AppendUint64(packet, random.Uint64())
	_, _ = c.Write(packet)
	_, _ = io.Copy(io.Discard, c)
}

func nowhere(_ context.Context, random *rand.Rand, c *net.TCPConn) {
	_, _ = c.Write(startup(fmt.Sprintf("bob.%d", random.Uint32())))
	_, _ = io.Copy(io.Discard, c)
}

// query is a message of the simple protocol.
func query(text string) []byte {
	out := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(4+len(text)+1))
	return append(append(out, text...), 0)
}

// midQuery leaves while the answer comes, or before.
func midQuery(_ context.Context, random *rand.Rand, c *net.TCPConn) {
	_, _ = c.Write(append(startup("postgres.orders"), query("select repeat('x', 1000) from generate_series(1, 1000)")...))
	_, _ = io.CopyN(io.Discard, c, int64(random.IntN(500_000)))
}

// goodbye ends in order, or says half of that, and does not wait.
func goodbye(_ context.Context, random *rand.Rand, c *net.TCPConn) {
	_, _ = c.Write(startup("postgres.orders"))
	_, _ = io.ReadFull(c, make([]byte, 9))
	_, _ = c.Write([]byte{'X', 0, 0, 0, 4}[:1+random.IntN(5)])
	if random.IntN(2) == 0 {
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}
}

// kill ends young sessions at the server until ctx ends.
func kill(ctx context.Context, t *testing.T, server *pgtest.Server) {
	conn, err := pgx.Connect(ctx, pgtest.DSN(server.Address, "postgres", ""))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	const young = "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and random() < 0.3 and pid <> pg_backend_pid() and backend_start > now() - interval '1 second'"
	for ctx.Err() == nil {
		_, err := conn.Exec(ctx, "select pg_sleep(0.02); "+young)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
	}
}

// quiet waits until the server has no session but the asking one.
func quiet(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	eventually(t, "0", func() string {
		var n string
		if err := conn.QueryRow(t.Context(), "select count(*)::text from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	})
}

// settled waits until the router has no more descriptors than at most, 0 for whatever it
// has once that is the same for a while, and returns how many it has.
func settled(t *testing.T, router *pgtest.Router, most int) int {
	t.Helper()
	count := func() int {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", router.PID()))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	late := time.Now().Add(60 * time.Second)
	for last, same := count(), 0; ; {
		<-tick.C
		now := count()
		if same++; now != last {
			last, same = now, 0
		}
		if same >= 10 && (most == 0 || now <= most) {
			return now
		}
		if time.Now().After(late) {
			t.Fatalf("the router has %d descriptors, want at most %d", now, most)
		}
	}
}

// goroutines ends a router and counts the goroutines that it had.
func goroutines(t *testing.T, router *pgtest.Router) int {
	t.Helper()
	router.Signal(t, syscall.SIGQUIT)
	if router.Wait(t, 30*time.Second) == nil {
		t.Fatal("it ends in order")
	}
	return strings.Count(router.Log.String(), "\ngoroutine ")
}
