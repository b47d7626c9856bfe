package egress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	egress "github.com/gatehouse-proxy/gatehouse/clients/go"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/crawl"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// fleet starts proxies, with a super-proxy within, and waits for them.
func fleet(t *testing.T, site *site, names ...string) *crawl.Fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f, err := crawl.Open(ctx, crawl.Options{
		Binary: binary, Dir: t.TempDir(), Names: names, Health: site.http + "/health", Destinations: "127.0.0.0/8", SuperProxy: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Errorf("%v\n%s", err, f.Log)
		}
	})
	if _, err := f.Ready(ctx); err != nil {
		t.Fatalf("%v\n%s", err, f.Log)
	}
	return f
}

// super is a super-proxy in a process of its own.
type super struct {
	address, admin, metrics string
	cmd                     *exec.Cmd
	output                  *rig.Output
	exited                  chan struct{}
}

var says = regexp.MustCompile(`msg=serving .*\baddress=(\S+) admin=(\S+) metrics=(\S+)`)

// start runs "gatehouse egress" for a fleet until the test ends.
func start(t *testing.T, f *crawl.Fleet, flags ...string) *super {
	t.Helper()
	s := &super{output: new(rig.Output), exited: make(chan struct{})}
	s.cmd = exec.Command(binary, append([]string{
		"egress", "--listen", "127.0.0.1:0", "--admin-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0",
		"--lease-api", "http://" + f.Lease, "--allow-destinations", "127.0.0.0/8", "--drain-timeout", "1s",
	}, flags...)...)
	s.cmd.Env = append(os.Environ(), "DISCOVERY_TOKEN="+f.Token)
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.exited)
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		s.stop() // a fleet waits for the leases of its proxies
	})
	until(t, "the super-proxy serves", func() bool {
		select {
		case <-s.exited:
			t.Fatalf("it ended:\n%s", s.output)
		default:
		}
		return says.MatchString(s.output.String())
	})
	found := says.FindStringSubmatch(s.output.String())
	s.address, s.admin, s.metrics = found[1], found[2], found[3]
	return s
}

// stop lets it give its leases back, and kills it only if it hangs.
func (s *super) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}

// end sends SIGTERM, and returns the exit code.
func (s *super) end(t *testing.T) int {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(patience):
		t.Fatalf("it does not end:\n%s", s.output)
	}
	return s.cmd.ProcessState.ExitCode()
}

// token makes a token by the command, and the file that lets it in.
func token(t *testing.T, more ...string) (secret, file string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"egress", "token", "tester"}, more...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	file = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(errs.String())
	return words[len(words)-1], file
}

// site answers with the address that it is asked from, in clear and by TLS.
type site struct {
	http, https, ca string
	next            chan struct{} // lets /slow say one more line
}

func newSite(t *testing.T) *site {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><link rel=icon href=data:,><p id=text>"+host+"</p>")
	})
	next := make(chan struct{})
	slow := func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		for range 2 {
			_, _ = io.WriteString(w, host+"\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-r.Context().Done():
			}
		}
	}
	pages := http.NewServeMux()
	pages.Handle("/", handler)
	pages.HandleFunc("/slow", slow)
	clear, secure := httptest.NewServer(pages), httptest.NewTLSServer(pages)
	t.Cleanup(clear.Close)
	t.Cleanup(secure.Close)
	s := &site{http: clear.URL, https: secure.URL, ca: filepath.Join(t.TempDir(), "ca.pem"), next: next}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(s.ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

var addressShown = regexp.MustCompile(`<p id=text>([^<]+)</p>`)

// curl asks for a URL and returns the address that the site saw, or all that was answered.
func (s *site) curl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.tryCurl(t, args...)
	if err != nil {
		t.Fatalf("curl %q: %v", args, err)
	}
	if shown := addressShown.FindStringSubmatch(out); shown != nil {
		return shown[1]
	}
	return out
}

// download is a page that comes line by line.
type download struct {
	*site
	cmd   *exec.Cmd
	lines *bufio.Scanner
	begun bool
}

// slow has curl begin a download.
func (s *site) slow(t *testing.T, args ...string) *download {
	t.Helper()
	cmd := s.command(t, append([]string{"--no-buffer", s.http + "/slow"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &download{site: s, cmd: cmd, lines: bufio.NewScanner(out)}
}

// line is the next, which is the address that the site sees.
func (d *download) line(t *testing.T) string {
	t.Helper()
	if d.begun {
		d.more(t)
	}
	d.begun = true
	if !d.lines.Scan() {
		t.Fatalf("the download has broken off: %v", d.lines.Err())
	}
	return d.lines.Text()
}

func (d *download) more(t *testing.T) {
	t.Helper()
	select {
	case d.next <- struct{}{}:
	case <-time.After(patience):
		t.Fatal("the download does not go on")
	}
}

// end waits for its end, which is a good one.
func (d *download) end(t *testing.T) {
	t.Helper()
	d.more(t)
	if d.lines.Scan() {
		t.Errorf("one line more: %q", d.lines.Text())
	}
	if err := d.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

var leaseTold = regexp.MustCompile(`(?i)gatehouse-lease: (\S+)`)

// report says of a lease what became of its use, as anybody can who knows it.
func report(t *testing.T, f *crawl.Fleet, id, result string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.Lease+"/v1/leases/"+id+"/report", strings.NewReader(`{"result":"`+result+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.Token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Fatalf("the report is answered %s", resp.Status)
	}
}

// tryCurl runs curl without the settings and the proxies of the environment.
func (s *site) tryCurl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := s.command(t, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out) + errs.String(), err
	}
	return string(out), nil
}

func (s *site) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("no curl is installed (run: make curl)")
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--disable", "--silent", "--show-error", "--max-time", "60", "--cacert", s.ca}, args...)...)
	cmd.Env = []string{}
	return cmd
}

// ask reads a page of the admin or metrics address.
func ask(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// sessions are those that the super-proxy tells of.
func (s *super) sessions(t *testing.T) (all []map[string]any, leases int) {
	t.Helper()
	_, body := ask(t, s.admin+"/v1/sessions")
	var out struct {
		Sessions []map[string]any
		Leases   int
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return out.Sessions, out.Leases
}

// until waits for a condition.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !yes() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("never: %s", what)
		}
	}
}

// active is how many leases the fleet knows of.
func active(t *testing.T, f *crawl.Fleet) (n int) {
	t.Helper()
	all, err := f.Client().List(t.Context(), egress.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		n += p.ActiveLeases
	}
	return n
}

// kill ends the process of a proxy, "namespace/name".
func kill(t *testing.T, f *crawl.Fleet, id string) {
	t.Helper()
	all, err := f.Client().List(t.Context(), egress.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.ID() == id {
			pid := listener(t, p.Host, p.Port)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no proxy %s", id)
}

// listener finds the process of a proxy by its command line.
func listener(t *testing.T, host string, port int) (pid int) {
	t.Helper()
	address := net.JoinHostPort(host, strconv.Itoa(port))
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, _ := os.ReadFile(path)
		if words := strings.Split(string(line), "\x00"); slices.Contains(words, address) || slices.Contains(words, "--listen="+address) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				return pid
			}
		}
	}
	t.Fatalf("no process listens on %s", address)
	return 0
}
