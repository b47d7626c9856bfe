package postgres_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	pgtest "github.com/gatehouse-proxy/gatehouse/test/postgres"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// replicas are two routers that share a key, each with both in its list.
func replicas(t *testing.T, server *pgtest.Server) [2]*pgtest.Router {
	t.Helper()
	key := filepath.Join(t.TempDir(), "key")
	shared := make([]byte, 32)
	_, _ = rand.Read(shared)
	if err := os.WriteFile(key, shared, 0o400); err != nil {
		t.Fatal(err)
	}
	var ports [2]string
	for i := range ports {
		port, err := rig.FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = strconv.Itoa(int(port))
	}
	var out [2]*pgtest.Router
	for i := range out {
		out[i] = pgtest.Route(t, "--static-backends=orders="+server.Address, "--debug", "--cancel-peer-key-file="+key,
			"--cancel-peer-port="+ports[i], "--cancel-peers=127.0.0.1:"+ports[0]+",127.0.0.1:"+ports[1]).Ready(t)
	}
	return out
}

// inTurn is what a Service is to its clients: each connection goes to the next router.
func inTurn(t *testing.T, routers [2]*pgtest.Router) (address string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { carry(client, routers[i%2].Address) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// carry carries bytes until either side has closed.
func carry(client net.Conn, to string) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(server, client); _ = server.(*net.TCPConn).CloseWrite() })
	wg.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
	wg.Wait()
}

// monitor asks a server directly.
func monitor(t *testing.T, server *pgtest.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(server.Address, "postgres", "sslmode=disable"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// running waits until so many sessions run pg_sleep.
func running(t *testing.T, conn *pgx.Conn, want int) {
	t.Helper()
	late := time.Now().Add(30 * time.Second)
	for range time.Tick(10 * time.Millisecond) {
		var n int
		err := conn.QueryRow(t.Context(), "select count(*) from pg_stat_activity where state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%d sessions sleep, want %d", n, want)
		}
	}
}

// Ctrl-C in psql reaches the server whichever replica the cancel comes to.
func TestCancelThroughAnotherReplica(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	routers := replicas(t, server)
	see := monitor(t, server)
	for _, mode := range []string{"sslmode=disable", "sslmode=require"} {
		t.Run(mode, func(t *testing.T) {
			service := inTurn(t, routers)
			psql := exec.CommandContext(t.Context(), "psql", pgtest.DSN(service, "postgres.orders", mode), "-c", "select pg_sleep(600)")
			var said rig.Output
			psql.Stdout, psql.Stderr = &said, &said
			if err := psql.Start(); err != nil {
				t.Fatal(err)
			}
			running(t, see, 1)
			if err := psql.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if err := psql.Wait(); err == nil || !strings.Contains(said.String(), "canceling statement due to user request") {
				t.Errorf("psql ends with %v: %s", err, said.String())
			}
			running(t, see, 0)
		})
	}
	if log := routers[1].Log.String(); !strings.Contains(log, `"reason":"peer"`) {
		t.Errorf("the other replica was not asked: %s", log)
	}
}

// cancelSafe runs a statement, cancels it once it is told to, and then sees that the
// session goes on: a cancel that is still on its way would hit what comes next.
const cancelSafe = `
import sys, threading, psycopg
conn = psycopg.connect(sys.argv[1], autocommit=True)
def cancel():
    sys.stdin.readline()
    conn.cancel_safe(timeout=20)
thread = threading.Thread(target=cancel)
thread.start()
try:
    conn.execute("select pg_sleep(600)")
    print("slept")
except psycopg.errors.QueryCanceled as e:
    print("cancelled", e.sqlstate)
thread.join()
for n in range(200):
    conn.execute("select %s", [n])
print("goes on", conn.pgconn.ssl_in_use)
`

// libpq of 17 and later encrypts its cancels as it does its sessions, and the keys of
// protocol 3.2 are long.
func TestCancelInsideTLS(t *testing.T) {
	for _, c := range []struct {
		version pgtest.Version
		more    string
	}{
		{pgtest.Installed, "sslmode=require"},
		{pgtest.V18, "sslmode=require min_protocol_version=3.2 max_protocol_version=3.2"},
		{pgtest.V18, "sslmode=disable min_protocol_version=3.2 max_protocol_version=3.2"},
	} {
		t.Run(fmt.Sprintf("%s %s", c.version, c.more), func(t *testing.T) {
			server := pgtest.Start(t, pgtest.Options{Version: c.version})
			see := monitor(t, server)
			service := inTurn(t, replicas(t, server))
			client := pgtest.Psycopg(t.Context(), t, cancelSafe, pgtest.DSN(service, "postgres.orders", c.more))
			var failed rig.Output
			client.Stderr = &failed
			now, err := client.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			said, err := client.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			running(t, see, 1)
			_, _ = io.WriteString(now, "\n")
			var lines []string
			for scanner := bufio.NewScanner(said); scanner.Scan(); {
				lines = append(lines, scanner.Text())
			}
			want := []string{"cancelled 57014", "goes on " + map[bool]string{true: "True", false: "False"}[strings.Contains(c.more, "require")]}
			if err := client.Wait(); err != nil || fmt.Sprint(lines) != fmt.Sprint(want) {
				t.Errorf("got %q, want %q: %v %s", lines, want, err, failed.String())
			}
		})
	}
}
