// Package postgres starts real PostgreSQL servers for tests, on loopback, each with a
// directory of its own that goes with the test.
package postgres

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// Server is a running PostgreSQL.
type Server struct {
	Address string // 127.0.0.1:port
	Port    int
	log     *rig.Output
	command []string // of the server process, and what asks whether it is ready
	isReady string
	running *exec.Cmd
}

// Options say how a server runs.
type Options struct {
	// Auth is the method of pg_hba.conf for TCP: "trust", "scram-sha-256", "md5". Empty
	// is scram-sha-256.
	Auth string
	// Encryption is password_encryption; empty is that of Auth, or scram-sha-256.
	Encryption string
	// TLS is what the server offers; nil for none.
	TLS *Secured
	// Access are lines of pg_hba.conf for TCP, in place of Auth's for everybody.
	Access string
	// Settings are those of postgresql.conf.
	Settings map[string]string
	// Port is where it listens; 0 is a free one.
	Port int
	// Version is which PostgreSQL it is.
	Version Version
}

// Password is that of the superuser "postgres", and of every role that tests make.
const Password = "correct horse"

// startTime bounds the start of a server, initdb included.
const startTime = 60 * time.Second

// Start starts a server that ends with the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	if o.Auth == "" {
		o.Auth = "scram-sha-256"
	}
	if o.Encryption == "" && o.Auth == "md5" {
		o.Encryption = "md5"
	}
	if o.Encryption == "" {
		o.Encryption = "scram-sha-256"
	}
	ctx, cancel := context.WithTimeout(tb.Context(), startTime)
	defer cancel()
	if o.Port == 0 {
		port, err := rig.FreePort(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		o.Port = int(port)
	}
	s := &Server{Port: o.Port, Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(o.Port)), log: new(rig.Output)}
	dir := directory(tb)
	bin := reachable(tb, o.Version, dir)
	s.run(ctx, tb, bin+"/initdb", "-D", dir+"/data", "-U", "postgres", "--pwfile", dir+"/password", "-A", o.Auth, "--no-sync", "--no-instructions")
	s.isReady = bin + "/pg_isready"
	s.command = slices.Concat([]string{
		bin + "/postgres", "-D", dir + "/data", "-k", dir, "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port),
		"-c", "fsync=off", "-c", "password_encryption=" + o.Encryption, "-c", "max_connections=50",
	}, o.TLS.secure(tb, dir), o.access(tb, dir))
	for name, value := range o.Settings {
		s.command = append(s.command, "-c", name+"="+value)
	}
	tb.Cleanup(s.Stop)
	s.Start(tb)
	return s
}

// directory makes one that the server's user owns, with the password in it.
func directory(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "gatehouse-pg-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if c := credential(tb); c != nil {
		if err := os.Chown(dir, int(c.Uid), int(c.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
	own(tb, dir+"/password", []byte(Password))
	return dir
}

// credential is who runs the server: not root, which PostgreSQL refuses.
func credential(tb testing.TB) *syscall.Credential {
	tb.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		tb.Fatal(err)
	}
	uid, _ := strconv.Atoi(nobody.Uid)
	gid, _ := strconv.Atoi(nobody.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) run(ctx context.Context, tb testing.TB, path string, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(tb)}
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", filepath.Base(path), err, out)
	}
}

// Start starts a stopped server again, where it was, and waits until it takes sessions.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	cmd := exec.Command(s.command[0], s.command[1:]...) //nolint:noctx // Stop ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(tb), Pdeathsig: syscall.SIGQUIT}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", s.log, s.log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	s.running = cmd
	ctx, cancel := context.WithTimeout(tb.Context(), startTime)
	defer cancel()
	s.await(ctx, tb, s.isReady)
}

// Stop ends the server quickly, with its sessions, if it runs.
func (s *Server) Stop() {
	cmd := s.running
	if cmd == nil {
		return
	}
	s.running = nil
	_ = cmd.Process.Signal(syscall.SIGINT)
	late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
}

// await waits until the server takes sessions.
func (s *Server) await(ctx context.Context, tb testing.TB, isReady string) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := exec.CommandContext(ctx, isReady, "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(s.Port)).Run()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			tb.Fatalf("PostgreSQL does not start: %v\n%s", err, s.log)
		}
	}
}

// DSN is a connection string for libpq and pgx through an address, with more settings.
func DSN(address, login, more string) string {
	host, port, _ := net.SplitHostPort(address)
	return fmt.Sprintf("host=%s port=%s user='%s' password='%s' %s", host, port, login, Password, more)
}
