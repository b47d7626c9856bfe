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

// sharedKey is a file with a key for replicas.
func sharedKey(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	if err := os.WriteFile(path, key, 0o400); err != nil {
		t.Fatal(err)
	}
	return path
}

// replicas are two routers with a key each, and both in their lists.
func replicas(t *testing.T, server *pgtest.Server, keys [2]string) [2]*pgtest.Router {
	t.Helper()
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
		out[i] = pgtest.Route(t, "--static-backends=orders="+server.Address, "--cancel-peer-key-file="+keys[i],
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
	key := sharedKey(t)
	routers := replicas(t, server, [2]string{key, key})
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
	counted(t, routers[1], `gatehouse_postgres_cancels_total{outcome="peer"} 2`)
	counted(t, routers[0], `gatehouse_postgres_cancel_peer_questions_total{outcome="heard_known"} 2`)
}

// counted waits until a router's metrics have a line.
func counted(t *testing.T, r *pgtest.Router, line string) {
	t.Helper()
	late := time.Now().Add(20 * time.Second)
	for range time.Tick(20 * time.Millisecond) {
		_, metrics := r.Get(t, "/metrics")
		if strings.Contains(metrics, "\n"+line+"\n") {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("the metrics lack %s, and the log says %s", line, r.Log)
		}
	}
}

// A replica with another key is not believed, and nothing that it asks for is cancelled.
func TestCancelFromAReplicaWithAnotherKey(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	routers := replicas(t, server, [2]string{sharedKey(t), sharedKey(t)})
	see := monitor(t, server)
	psql := exec.CommandContext(t.Context(), "psql", pgtest.DSN(inTurn(t, routers), "postgres.orders", "sslmode=disable"), "-c", "select pg_sleep(600)")
	if err := psql.Start(); err != nil {
		t.Fatal(err)
	}
	running(t, see, 1)
	if err := psql.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	counted(t, routers[1], `gatehouse_postgres_cancels_total{outcome="unknown"} 1`)
	counted(t, routers[1], `gatehouse_postgres_cancel_peer_questions_total{outcome="asked_silent"} 1`)
	counted(t, routers[0], `gatehouse_postgres_cancel_peer_questions_total{outcome="heard_forged"} 1`)
	running(t, see, 1)
	_ = psql.Process.Kill()
	_ = psql.Wait()
}

// What a psql has asked for ends with it, if the router is told to care.
func TestCancelOnDisconnect(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	router := pgtest.Route(t, "--static-backends=orders="+server.Address, "--cancel-on-disconnect").Ready(t)
	see := monitor(t, server)
	psql := exec.CommandContext(t.Context(), "psql", pgtest.DSN(router.Address, "postgres.orders", "sslmode=require"), "-c", "select pg_sleep(600)")
	if err := psql.Start(); err != nil {
		t.Fatal(err)
	}
	running(t, see, 1)
	if err := psql.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = psql.Wait()
	running(t, see, 0)
	counted(t, router, `gatehouse_postgres_cancels_total{outcome="vanished"} 1`)
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
			key := sharedKey(t)
			service := inTurn(t, replicas(t, server, [2]string{key, key}))
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
