package command

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every flag that is given badly is an error of one line that names the flag, the value
// and what is wrong; nothing is served.
func TestBadFlags(t *testing.T) {
	empty, short := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(short, "lease-key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--listen 3128", `--listen "3128": not HOST:PORT, for example 127.0.0.1:3128 or [::1]:3128`},
		{"--listen localhost:3128", `--listen "localhost:3128": host "localhost" is no IP address`},
		{"--listen 127.0.0.1:x", `--listen "127.0.0.1:x": port "x" is not 0 to 65535`},
		{"--listen 127.0.0.1:70000", `--listen "127.0.0.1:70000": port "70000" is not 0 to 65535`},
		{"--listen 0.0.0.0:0", `--listen "0.0.0.0:0": not loopback, and everybody could use the proxy: give --auth-dir with credentials or --allow-sources`},
		{"--listen [::]:0", `--listen "[::]:0": not loopback, and everybody could use the proxy: give --auth-dir with credentials or --allow-sources`},
		{"--scheme ftp", `--scheme "ftp": not http, https or socks5`},
		{"--scheme https", `--scheme "https": give --tls-cert and --tls-key, or tls.crt and tls.key in --auth-dir`},
		{"--scheme https --tls-cert x", `--scheme "https": give --tls-cert and --tls-key, or tls.crt and tls.key in --auth-dir`},
		{"--scheme http --tls-cert x", `--scheme "http": --tls-cert and --tls-key are only for https`},
		{"--scheme https --tls-cert " + empty + "/none --tls-key " + empty + "/none", `--tls-cert "` + empty + `/none": open ` + empty + `/none: no such file or directory`},
		{"--listen 0.0.0.0:0 --auth-dir " + empty, `--listen "0.0.0.0:0": not loopback, and everybody could use the proxy: give --auth-dir with credentials or --allow-sources`},
		{"--auth-dir " + empty + "/none", `--auth-dir "` + empty + `/none": open ` + empty + `/none: no such file or directory`},
		{"--auth-dir " + short, `--auth-dir "` + short + `": lease-key has 5 bytes, must have at least 32`},
		{"--instance -x", `--instance "-x": not a name: 1 to 63 letters, digits, dots and dashes, a letter first`},
		{"--egress-address eth0", `--egress-address "eth0": not an IP address of this machine`},
		{"--egress-address 0.0.0.0", `--egress-address "0.0.0.0": not an IP address of this machine`},
		{"--allow-sources 10.0.0.0/33", `--allow-sources "10.0.0.0/33": not a network such as 192.0.2.0/24 or 2001:db8::/32, or an address`},
		{"--allow-destinations 127.0.0.0/8,home", `--allow-destinations "home": not a network such as 192.0.2.0/24 or 2001:db8::/32, or an address`},
		{"--allow-ports 80,25", `--allow-ports "80,25": port 25 sends mail and is never open`},
		{"--allow-ports 9-8", `--allow-ports "9-8": "9-8" is neither a port (1 to 65535) nor a range such as 8000-9000`},
		{"--max-connections 0", `--max-connections "0": must be at least 1`},
		{"--idle-timeout 0s", `--idle-timeout "0s": must be above 0`},
		{"--connect-timeout -1s", `--connect-timeout "-1s": must be above 0`},
		{"--drain-timeout 0s", `--drain-timeout "0s": must be above 0`},
		{"--status-address 0.0.0.0:0", `--status-address "0.0.0.0:0": not loopback: give --auth-dir or --allow-sources, or a loopback address`},
		{"--status-address x", `--status-address "x": not HOST:PORT, for example 127.0.0.1:3128 or [::1]:3128`},
		{"--idle-timeout soon", `invalid argument "soon" for "--idle-timeout" flag: time: invalid duration "soon"; --help lists the flags`},
		{"serve", `"serve" is no flag; --help lists them`},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(c.args)
			if !strings.Contains(c.args, "--listen") {
				args = append(args, "--listen", "127.0.0.1:0")
			}
			var out, errs bytes.Buffer
			code := Main(t.Context(), args, &out, &errs)
			if want := "gatehouse-forward: " + c.want + "\n"; code != 2 || out.Len() > 0 || errs.String() != want {
				t.Errorf("exit %d, says\n%swant\n%s", code, errs.String(), want)
			}
		})
	}
}

// All that is wrong is said at once.
func TestEveryErrorIsSaid(t *testing.T) {
	var out, errs bytes.Buffer
	code := Main(t.Context(), []string{"--listen", ":0", "--scheme", "x", "--allow-ports", "x", "--max-connections", "0", "--egress-address", "x"}, &out, &errs)
	if lines := strings.Count(errs.String(), "gatehouse-forward: --"); code != 2 || lines != 5 {
		t.Errorf("exit %d:\n%s", code, errs.String())
	}
}

func TestAnAddressOfNobodyIsNoEgress(t *testing.T) {
	var out, errs bytes.Buffer
	code := Main(t.Context(), []string{"--listen", "127.0.0.1:0", "--egress-address", "192.0.2.77"}, &out, &errs)
	if code != 1 || !strings.Contains(errs.String(), `--egress-address "192.0.2.77": bind: cannot assign requested address; give an address of this machine`) {
		t.Errorf("exit %d:\n%s", code, errs.String())
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, flag := range []string{"--help", "-h", "--version"} {
		var out, errs bytes.Buffer
		if code := Main(t.Context(), []string{flag}, &out, &errs); code != 0 || errs.Len() > 0 || out.Len() == 0 {
			t.Errorf("%s: exit %d, %q", flag, code, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if len(strings.TrimSuffix(line, "\n")) > 104 {
				t.Errorf("%s: %d columns: %q", flag, len(line), line)
			}
		}
	}
}

// What a target sends although nobody asked for it is not logged: it would have the
// target's words in it, as many as the target likes.
func TestTargetsDoNotWriteTheLog(t *testing.T) {
	var standard bytes.Buffer
	log.SetOutput(&standard)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c, err := target.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n")
		}
		_, _ = io.Copy(io.Discard, c)
	}()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listen.Addr().String()
	_ = listen.Close()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan int)
	var out, errs bytes.Buffer
	go func() {
		ended <- Main(ctx, []string{"--listen", address, "--allow-destinations", "127.0.0.0/8", "--drain-timeout", "1s"}, &out, &errs)
	}()
	var c net.Conn
	for c, err = net.Dial("tcp", address); err != nil && t.Context().Err() == nil; c, err = net.Dial("tcp", address) {
		time.Sleep(time.Millisecond)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET http://"+target.Addr().String()+"/ HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-closed // the proxy has seen what came unasked
	_ = c.Close()
	end()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if standard.Len() > 0 {
		t.Errorf("logged: %s", standard.String())
	}
}
