package leases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/cluster"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// programs is where the binaries are.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fleet-leases")
	if err == nil {
		_, err = rig.Build(context.Background(), dir)
	}
	if err == nil {
		err = exec.Command("go", "build", "-o", filepath.Join(dir, "gatehouse-forward"), "github.com/gatehouse-proxy/gatehouse/cmd/gatehouse-forward").Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	if err := errors.Join(cluster.EndShared(), os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	token      = "of-the-test"
	eventually = time.Minute
)

// process is one "gatehouse fleet".
type process struct {
	*testing.T
	cmd   *exec.Cmd
	log   rig.Output
	ended chan struct{}
}

// run starts one, which ends with the test.
func run(t *testing.T, flags ...string) *process {
	t.Helper()
	p := &process{T: t, ended: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(programs, "gatehouse"), append([]string{
		"fleet", "--admin-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0", "--lease-address=127.0.0.1:0",
	}, flags...)...)
	p.cmd.Env = append(os.Environ(), "DISCOVERY_TOKEN="+token)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.ended); _ = p.cmd.Wait() }()
	t.Cleanup(func() {
		p.stop(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("process %d said:\n%s", p.cmd.Process.Pid, p.log.String())
		}
	})
	return p
}

// stop sends a signal, and returns how long the process then lived.
func (p *process) stop(s syscall.Signal) time.Duration {
	began := time.Now()
	_ = p.cmd.Process.Signal(s)
	<-p.ended
	return time.Since(began)
}

var leasing = regexp.MustCompile(`msg="leasing proxies" address=(\S+)`)

// url is where its lease API is.
func (p *process) url() (at string) {
	p.Helper()
	cluster.Until(p.T, eventually, "the lease API listens", func(context.Context) error {
		found := leasing.FindStringSubmatch(p.log.String())
		if found == nil {
			return errors.New("not yet")
		}
		at = found[1]
		return nil
	})
	return at
}

// answer is what the lease API says.
type answer struct {
	Status  int
	Error   string
	LeaseID string
	Rebound bool
	Proxy   struct {
		Name, Namespace, URL, Username, Password string
		ActiveLeases                             int
	}
	Considered, AtCapacity, InCooldown, Unhealthy, Count int
	Text                                                 string
}

// ask calls the lease API; key is an Idempotency-Key, or empty.
func (p *process) ask(method, path, body, key string) (a answer, err error) {
	ctx, cancel := context.WithTimeout(p.Context(), eventually)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.url()+path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && len(bytes.TrimSpace(text)) > 0 {
		err = json.Unmarshal(text, &a)
	}
	a.Status, a.Text = response.StatusCode, string(text)
	return a, err
}

// must asks, and wants a status.
func (p *process) must(status int, method, path, body string) answer {
	p.Helper()
	a, err := p.ask(method, path, body, "")
	if err != nil || a.Status != status {
		p.Fatalf("%s %s %s: %d %s %v, want %d", method, path, body, a.Status, a.Text, err, status)
	}
	return a
}

// eventually asks until it gets a status.
func (p *process) eventually(status int, method, path, body string) (a answer) {
	p.Helper()
	cluster.Until(p.T, eventually, fmt.Sprintf("%s %s says %d", method, path, status), func(context.Context) (err error) {
		if a, err = p.ask(method, path, body, ""); err == nil && a.Status != status { //nolint:contextcheck // it has the test's
			err = fmt.Errorf("%d %s", a.Status, a.Text)
		}
		return err
	})
	return a
}

// files is a fleet of a directory.
type files struct {
	*testing.T
	dir string
}

func newFiles(t *testing.T) files {
	t.Helper()
	f := files{t, t.TempDir()}
	for _, name := range []string{"config", "next"} {
		if err := os.Mkdir(filepath.Join(f.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// write puts a file of documents in the place of the one before.
func (f files) write(name string, documents ...string) {
	f.Helper()
	next := filepath.Join(f.dir, "next", name)
	err := os.WriteFile(next, []byte(strings.Join(documents, "---\n")), 0o600)
	if err == nil {
		err = os.Rename(next, filepath.Join(f.dir, "config", name))
	}
	if err != nil {
		f.Fatal(err)
	}
}

func (f files) checkpoint() string { return filepath.Join(f.dir, "state", "leases.checkpoint") }

func (f files) run(flags ...string) *process {
	f.Helper()
	return run(f.T, append([]string{"--config=" + filepath.Join(f.dir, "config"), "--state-dir=" + filepath.Join(f.dir, "state"), "--allow-mass-delete"}, flags...)...)
}

// often is a check that comes to a verdict soon.
const often = "healthCheck: {interval: 5s, timeout: 2s, successThreshold: 1}"

// external is a Proxy that somebody else runs: whoever listens at the address.
func external(namespace, name, address, spec string) string {
	host, port, _ := net.SplitHostPort(address)
	return "apiVersion: egress.gatehouse.dev/v1alpha1\nkind: Proxy\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n" +
		"spec: {mode: External, endpoint: {host: " + host + ", port: " + port + "}, " + often + spec + "}\n"
}

// accepts is the address of somebody who takes every connection.
func accepts(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func secret(name, user string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: crawl}\n" +
		"stringData: {username: " + user + ", password: hunter2}\n"
}
