package pgwire_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgresBin is where Debian has PostgreSQL 15.
const postgresBin = "/usr/lib/postgresql/15/bin"

// timeout bounds whatever a test waits for.
const timeout = 60 * time.Second

// startPostgres runs a PostgreSQL of the test's own, reached by a socket in the folder
// that it returns. Users md5 and scram have the password "secret".
func startPostgres(t *testing.T) string {
	t.Helper()
	dir := folderOfAnotherUser(t)
	data := filepath.Join(dir, "data")
	attributes := asPostgres(t, dir)
	initdb := exec.CommandContext(t.Context(), filepath.Join(postgresBin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N")
	initdb.SysProcAttr, initdb.Dir = attributes, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s\ninstall it with: apt-get install postgresql-15", err, out)
	}
	hba := "local all md5 md5\nlocal all scram scram-sha-256\nlocal all all trust\nlocal replication all trust\n"
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(hba), 0o644); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(filepath.Join(postgresBin, "postgres"), "-D", data, "-k", dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "logging_collector=off")
	server.SysProcAttr, server.Dir = attributes, dir
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	c := connect(t, dir, "postgres")
	for _, statement := range []string{
		"set password_encryption = md5", "create user md5 password 'secret'",
		"set password_encryption = 'scram-sha-256'", "create user scram password 'secret'",
		"create table numbers (n int)",
	} {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// folderOfAnotherUser is a folder that need not be the caller's: those of the package
// testing lie in one that only he may enter.
func folderOfAnotherUser(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgwire-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// asPostgres lets a command run as the user that Debian has for it, since PostgreSQL
// refuses to run as root, and gives it dir. Nobody else needs another user.
func asPostgres(t *testing.T, dir string) *syscall.SysProcAttr {
	t.Helper()
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attributes
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return attributes
}

// stop ends a server at once; it has nothing to keep.
func stop(t *testing.T, server *exec.Cmd) {
	t.Helper()
	_ = server.Process.Signal(syscall.SIGQUIT)
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	select {
	case <-ended:
	case <-time.After(timeout):
		_ = server.Process.Kill()
		t.Errorf("PostgreSQL did not end: %v", <-ended)
	}
}

// connect returns a session through the socket in dir, as soon as one can be had.
func connect(t *testing.T, dir, name string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, "host="+dir+" user="+name+" password=secret dbname=postgres sslmode=disable")
		if err == nil {
			t.Cleanup(func() { closeSession(c) })
			return c
		}
		if ctx.Err() != nil || strings.Contains(err.Error(), "SQLSTATE 28") {
			t.Fatal(err)
		}
	}
}

func closeSession(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_ = c.Close(ctx)
}

// recorder is a relay between sockets that keeps what passed, with a tracker for each
// session.
type recorder struct {
	dir      string // where its own socket is
	server   string // the folder of the server's socket
	mu       sync.Mutex
	sessions []*session
	wg       sync.WaitGroup
}

func startRecorder(t *testing.T, server string) *recorder {
	t.Helper()
	r := &recorder{dir: t.TempDir(), server: server}
	listener, err := net.Listen("unix", filepath.Join(r.dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	r.wg.Go(func() { r.accept(t, listener) })
	t.Cleanup(func() {
		_ = listener.Close()
		r.wg.Wait()
	})
	return r
}

func (r *recorder) accept(t *testing.T, listener net.Listener) {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		s := &session{client: client}
		r.mu.Lock()
		r.sessions = append(r.sessions, s)
		r.mu.Unlock()
		r.wg.Go(func() {
			if err := s.serve(r.server); err != nil {
				t.Error(err)
			}
		})
	}
}

// ended waits for all sessions and returns them.
func (r *recorder) ended(t *testing.T) []*session {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		s.wait(t)
	}
	return r.sessions
}
