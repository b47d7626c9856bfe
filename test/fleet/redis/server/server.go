// Package server runs real Redis and Valkey servers for tests, on loopback, each with a
// directory of its own that goes with the test.
package server

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// Program is which server it is.
type Program string

// Programs, as hack/fetch-redis.sh has them.
const (
	Redis  Program = "redis"
	Valkey Program = "valkey"
)

// Programs are all of them.
var Programs = []Program{Redis, Valkey}

// Options say how a server runs.
type Options struct {
	// Program is Redis by default.
	Program Program
	// Args are further settings, "--name", "value".
	Args []string
}

// Server is a running server.
type Server struct {
	// Address is HOST:PORT.
	Address string
	log     *rig.Output
	command []string
	running *exec.Cmd
	ended   chan struct{}
	client  *goredis.Client
}

// startTime bounds a start: a server reads what it kept.
const startTime = 60 * time.Second

// Start starts a server that ends with the test, and waits until it answers. It keeps
// nothing unless Args say so.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	port, err := rig.FreePort(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if o.Program == "" {
		o.Program = Redis
	}
	s := &Server{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))), log: new(rig.Output)}
	s.command = append([]string{
		find(tb, o.Program), "--bind", "127.0.0.1", "--port", strconv.Itoa(int(port)), "--dir", tb.TempDir(), "--save", "",
		"--repl-diskless-sync-delay", "0",
	}, o.Args...)
	logging.Disable() // or the client says that the server is not there yet
	s.client = goredis.NewClient(&goredis.Options{Addr: s.Address, MaxRetries: -1, DialerRetries: 1})
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("%s, %v, said:\n%s", s.Address, s.running.ProcessState, s.log)
		}
		s.Kill()
		_ = s.client.Close()
	})
	s.Start(tb)
	return s
}

// find returns where a program is.
func find(tb testing.TB, p Program) string {
	tb.Helper()
	variable := map[Program]string{Redis: "GATEHOUSE_REDIS", Valkey: "GATEHOUSE_VALKEY"}[p]
	if path := os.Getenv(variable); path != "" {
		return path
	}
	name := string(p) + "-server"
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		if found, _ := filepath.Glob(filepath.Join(cache, "gatehouse", string(p), "*", name)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	tb.Fatalf("no %s: run make redis, or name one in $%s", name, variable)
	return ""
}

// Client asks the server as somebody else would.
func (s *Server) Client() *goredis.Client { return s.client }

// PID of the process.
func (s *Server) PID() int { return s.running.Process.Pid }

// Start starts a server that was ended again, where it was.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	s.running = exec.Command(s.command[0], s.command[1:]...) //nolint:noctx // Kill ends it
	s.running.Stdout, s.running.Stderr = s.log, s.log
	s.running.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.running.Start(); err != nil {
		tb.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(s.running, s.ended)
	s.wait(tb)
}

// wait waits until the server answers.
func (s *Server) wait(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.client.Ping(ctx).Err()
		if err == nil {
			return
		}
		select {
		case <-s.ended:
			tb.Fatalf("the server ended by itself; it said:\n%s", s.log)
		case <-ctx.Done():
			tb.Fatalf("the server does not answer: %v; it said:\n%s", err, s.log)
		case <-tick.C:
		}
	}
}

// Kill ends the server as a crash would.
func (s *Server) Kill() {
	select {
	case <-s.ended:
	default:
		_ = s.running.Process.Kill()
		<-s.ended
	}
}

// Freeze stops the process in its tracks, until Thaw.
func (s *Server) Freeze() { _ = s.running.Process.Signal(syscall.SIGSTOP) }

// Thaw lets it go on.
func (s *Server) Thaw() { _ = s.running.Process.Signal(syscall.SIGCONT) }
