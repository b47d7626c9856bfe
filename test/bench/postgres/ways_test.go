package postgres_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// way is how clients reach the server.
type way struct {
	name    string
	address string
	login   string
	sslmode string
	process process // the proxy; none for a direct connection
}

func (w way) dsn() string {
	host, port, _ := net.SplitHostPort(w.address)
	return fmt.Sprintf("host=%s port=%s user=%s dbname=postgres sslmode=%s", host, port, w.login, w.sslmode)
}

func direct(server string) way {
	return way{name: "direct", address: server, login: "postgres", sslmode: "disable"}
}

// program is what $GATEHOUSE_BIN names, or built.
func program(b *testing.B) string {
	b.Helper()
	if path := os.Getenv("GATEHOUSE_BIN"); path != "" {
		return path
	}
	dir, err := os.MkdirTemp("", "gatehouse-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	path, err := rig.Build(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	return path
}

// gatehouse starts the router on some processors.
func gatehouse(b *testing.B, cpus, server string) way {
	b.Helper()
	address, port := freeAddress(b)
	_, health := freeAddress(b)
	p := launch(b, cpus, false, program(b), "postgres", "--static-backends", "o="+server, "--proxy-start-port", port, "--health-server-port", health)
	p.listens(b, address)
	return way{name: "gatehouse", address: address, login: "postgres.o", sslmode: "disable", process: p}
}

// overTLS is the same router, asked for TLS.
func (w way) overTLS() way {
	w.name, w.sslmode = w.name+"-tls", "require"
	return w
}

// pgbouncer starts PgBouncer, in session mode, on some processors.
func pgbouncer(b *testing.B, cpus, server string) way {
	b.Helper()
	address, port := freeAddress(b)
	host, serverPort, _ := net.SplitHostPort(server)
	dir, err := os.MkdirTemp("", "gatehouse-bouncer-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	for name, text := range map[string]string{
		"users": "\"postgres\" \"\"\n",
		"ini": fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
			"unix_socket_dir =\nauth_type = trust\nauth_file = %s/users\npool_mode = session\n"+
			"max_client_conn = 8000\ndefault_pool_size = 8000\n", host, serverPort, port, dir),
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	p := launch(b, cpus, true, bouncerPath(), dir+"/ini")
	p.listens(b, address)
	return way{name: "pgbouncer", address: address, login: "postgres", sslmode: "disable", process: p}
}

func bouncerPath() string {
	if path, err := exec.LookPath("pgbouncer"); err == nil {
		return path
	}
	return "/usr/sbin/pgbouncer" // Debian's place, which is not in everybody's PATH
}

// copier starts a relay that only copies: this program as a child.
func copier(b *testing.B, server string) way {
	b.Helper()
	address, _ := freeAddress(b)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	p := launch(b, "", false, self, copierRole, address, server)
	p.listens(b, address)
	return way{name: "io.Copy", address: address, login: "postgres", sslmode: "disable", process: p}
}

// versions is a line for the head of a table.
func versions(b *testing.B) string {
	b.Helper()
	var all []string
	for _, program := range [][]string{{"pgbench", "--version"}, {bouncerPath(), "--version"}} {
		out, err := exec.CommandContext(b.Context(), program[0], program[1:]...).Output()
		if err != nil {
			b.Fatalf("%s: %v; run \"make postgres pgbouncer\"", program[0], err)
		}
		first, _, _ := strings.Cut(string(out), "\n")
		all = append(all, first)
	}
	return strings.Join(all, ", ")
}
