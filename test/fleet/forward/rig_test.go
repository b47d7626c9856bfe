package forward

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// egress is the address that targets see, if the proxy does its work.
const egress = "127.0.0.9"

// process is a running proxy.
type process struct {
	cmd             *exec.Cmd
	address, status string // HOST:PORT
	output          *rig.Output
	exited          chan struct{}
	t               *testing.T
}

var (
	saysAddress = regexp.MustCompile(`address"?[=:]"?([^\s",]+:\d+)`)
	saysStatus  = regexp.MustCompile(`status"?[=:]"?([^\s",]+:\d+)`)
)

// start runs a command that serves until the test ends, with loopback as destination
// and from the address egress.
func start(t *testing.T, command []string, args ...string) *process {
	t.Helper()
	args = slices.Concat(command[1:], []string{
		"--allow-destinations", "127.0.0.0/8,::1", "--egress-address", egress, "--status-address", "127.0.0.1:0",
	}, args)
	if !slices.Contains(args, "--listen") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	p := &process{cmd: exec.Command(command[0], args...), output: &rig.Output{}, exited: make(chan struct{}), t: t}
	p.cmd.Stderr, p.cmd.Stdout = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
	})
	p.until("it serves", func() bool { return strings.Contains(p.output.String(), "serving") })
	p.address = saysAddress.FindStringSubmatch(p.output.String())[1]
	p.status = saysStatus.FindStringSubmatch(p.output.String())[1]
	return p
}

// small is the command of the small binary.
func small() []string { return []string{binary} }

// until waits for a condition while the process lives.
func (p *process) until(what string, yes func() bool) {
	p.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !yes() {
		select {
		case <-tick.C:
		case <-p.exited:
			if yes() {
				return
			}
			p.t.Fatalf("it ended before %s:\n%s", what, p.output)
		case <-late:
			p.t.Fatalf("never: %s:\n%s", what, p.output)
		}
	}
}

// end sends SIGTERM and returns the exit code.
func (p *process) end() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("it does not end:\n%s", p.output)
	}
	return p.cmd.ProcessState.ExitCode()
}

// metrics is what /metrics says.
func (p *process) metrics() string {
	p.t.Helper()
	resp, err := http.Get("http://" + p.status + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// credentials writes bob's password to a directory.
func credentials(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{"username": "bob\n", "password": "s3cr/t:@\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// target records who asks it and how.
type target struct {
	http, https string // URLs
	ca          string // file
	mu          sync.Mutex
	sources     map[string]int
	told        []string // fields that tell of a proxy
}

const page = `<!doctype html><title>home</title><link rel=icon href=data:,><p id=text>hello</p>`

func newTarget(t *testing.T) *target {
	t.Helper()
	tg := &target{sources: make(map[string]int)}
	clear, secure := httptest.NewServer(tg.handler()), httptest.NewTLSServer(tg.handler())
	t.Cleanup(clear.Close)
	t.Cleanup(secure.Close)
	tg.http, tg.https = clear.URL, secure.URL
	tg.ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(tg.ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return tg
}

func (tg *target) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	mux.HandleFunc("GET /bulk", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bulk()) })
	mux.HandleFunc("POST /sum", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%x", sha256.Sum256(b))
	})
	mux.Handle("GET /echo", websocket.Handler(func(c *websocket.Conn) { _, _ = io.Copy(c, c) }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tg.record(r)
		mux.ServeHTTP(w, r)
	})
}

func (tg *target) record(r *http.Request) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	tg.sources[host]++
	for name, values := range r.Header {
		if strings.HasPrefix(name, "Proxy-") || name == "Via" || name == "Forwarded" || strings.HasPrefix(name, "X-Forwarded") {
			tg.told = append(tg.told, fmt.Sprint(name, values))
		}
	}
}

// check sees that everybody came from the egress address, and none told of a proxy.
func (tg *target) check(t *testing.T) {
	t.Helper()
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if len(tg.sources) != 1 || tg.sources[egress] == 0 || len(tg.told) > 0 {
		t.Errorf("sources %v, and fields %q", tg.sources, tg.told)
	}
}

// bulk is 4 MiB that no two pieces of are alike.
var bulk = sync.OnceValue(func() []byte {
	b := make([]byte, 0, 4<<20)
	for sum := sha256.Sum256(nil); len(b) < 4<<20; sum = sha256.Sum256(sum[:]) {
		b = append(b, sum[:]...)
	}
	return b
})

func sumOf(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// curl runs curl without the settings and the proxies of the environment.
func curl(t *testing.T, in []byte, args ...string) (out string, code int) {
	t.Helper()
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("no curl is installed (run: make curl)")
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--disable", "--silent", "--show-error", "--max-time", "60"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = bytes.NewReader(in), &stdout, &stderr, []string{}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code != 0 {
		t.Logf("curl exits %d: %s", code, stderr.String())
	}
	return stdout.String(), code
}
