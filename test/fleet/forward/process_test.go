package forward

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// maxSize is how large the binary that instances download may be.
const maxSize = 10_000_000

func TestTheBinaryIsSmallAndStatic(t *testing.T) {
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxSize {
		t.Errorf("%d bytes, at most %d", info.Size(), maxSize)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 || f.Section(".interp") != nil || f.Section(".symtab") != nil {
		t.Errorf("needs %v, %v, or is not stripped", libraries, err)
	}
}

// At SIGTERM what is under way goes on, nobody new is accepted, and the exit code is 0.
func TestSIGTERM(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Close() }()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	p := start(t, small(), "--drain-timeout", "1m")
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	in := bufio.NewReader(c)
	expect := func(send, want string) {
		t.Helper()
		_, _ = io.WriteString(c, send)
		b := make([]byte, len(want))
		if _, err := io.ReadFull(in, b); err != nil || string(b) != want {
			t.Fatalf("%q, %v", b, err)
		}
	}
	expect(fmt.Sprintf("CONNECT %s HTTP/1.1\r\n\r\n", echo.Addr()), "HTTP/1.1 200 Connection established\r\n\r\n")
	code := make(chan int)
	go func() { code <- p.end() }()
	p.until("it drains", func() bool {
		resp, err := http.Get("http://" + p.status + "/healthz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	expect("hello", "hello")
	if c, err := net.Dial("tcp", p.address); err == nil {
		_ = c.Close()
		t.Error("somebody new was accepted")
	}
	_ = c.Close()
	if code := <-code; code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.output)
	}
}

// Bad input ends both binaries at once, with one line that names the flag, the value and
// what to do, and nothing listens.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "username"), []byte("bob"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"open to everybody": {[]string{"--listen", ":0"}, 2, `--listen ":0": not loopback, and everybody could use the proxy: give --auth-dir with credentials or --allow-sources`},
		"half a login":      {[]string{"--auth-dir", dir}, 2, `--auth-dir "` + dir + `": of the files username and password it has only one`},
		"address in use":    {[]string{"--listen", taken.Addr().String()}, 1, `--listen "` + taken.Addr().String() + `": bind: address already in use; give another address`},
		"unknown flag":      {[]string{"--lisen", "x"}, 2, `unknown flag: --lisen; `},
	} {
		for _, command := range [][]string{{binary}, {gatehouse, "forward"}} {
			t.Run(name+"/"+filepath.Base(command[0]), func(t *testing.T) {
				out, err := exec.CommandContext(t.Context(), command[0], append(command[1:], c.args...)...).CombinedOutput()
				if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != c.code { //nolint:errorlint // of exec alone
					t.Errorf("%v", err)
				}
				if text := string(out); strings.Count(text, "\n") != 1 || !strings.Contains(text, c.want) {
					t.Errorf("it says %q, want %q", text, c.want)
				}
			})
		}
	}
}
