package probes

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// taskVariable makes this program a prober.
const taskVariable = "GATEHOUSE_PROBE_TASK"

func TestMain(m *testing.M) {
	if text := os.Getenv(taskVariable); text != "" {
		if err := probe(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// ways are how proxies are probed, and how much of a processor 10,000 of them may cost
// every 30 s.
var ways = []struct {
	name, url string
	most      float64
}{
	{"plain", "http://target.example/", 0.06},
	{"tunnel", "https://target.example/", 0.3},
}

// BenchmarkProbes is what 10,000 proxies cost that are probed every 30 s, in a process of
// its own; proxies and targets are in this one.
func BenchmarkProbes(b *testing.B) {
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			port, trust := proxies(b)
			var got cost
			for b.Loop() {
				got = hire(b, trust, task{Proxies: 10_000, Port: port, URL: way.url, Interval: 30 * time.Second, Rounds: 1})
			}
			if got.Failed > 0 || got.cores() > way.most {
				b.Errorf("%v, want at most %.2f core and no failure", got, way.most)
			}
			b.ReportMetric(got.cores(), "cores")
			b.ReportMetric(float64(got.CPU.Microseconds())/float64(got.Probes), "cpu-µs/probe")
			b.ReportMetric(float64(got.Heap)/10_000, "heap-B/proxy")
			b.ReportMetric(float64(got.InFlight), "most-at-once")
			b.ReportMetric(float64(got.Writes), "writes")
		})
	}
}

// TestProbesAreCheap is the same with fewer, in a short time: each is probed as often as
// it is to be, none fails, and nothing is written that is not new.
func TestProbesAreCheap(t *testing.T) {
	port, trust := proxies(t)
	for _, way := range ways {
		got := hire(t, trust, task{Proxies: 40, Port: port, URL: way.url, Interval: 2 * time.Second, Rounds: 2})
		t.Log(way.name, got)
		if got.Failed > 0 || got.Probes < 50 || got.Probes > 110 {
			t.Errorf("%s: %v, want 80 or so", way.name, got)
		}
	}
}

// hire carries out a task in a process of its own.
func hire(t testing.TB, trust string, do task) (out cost) {
	t.Helper()
	text, err := json.Marshal(do)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), taskVariable+"="+string(text), "SSL_CERT_FILE="+trust, "SSL_CERT_DIR=/nowhere")
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(said, &out)
	}
	if err != nil {
		t.Fatalf("the prober: %v: %s", err, said)
	}
	return out
}

// proxies listen at one port of several addresses, each of them a proxy whose every target
// answers 204. It returns the port, and a file with the authority of targets.
func proxies(t testing.TB) (port int, trust string) {
	t.Helper()
	secure, der := certificate(t)
	trust = filepath.Join(t.TempDir(), "targets.pem")
	if err := os.WriteFile(trust, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range addresses {
		ln, err := net.Listen("tcp", net.JoinHostPort(address(i), strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		port = ln.Addr().(*net.TCPAddr).Port
		go serve(ln, secure)
	}
	return port, trust
}

func serve(ln net.Listener, secure *tls.Config) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go answer(conn, secure)
	}
}

// answer is one connection of a proxy, which is its own target.
func answer(conn net.Conn, secure *tls.Config) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	r, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if r.Method == http.MethodConnect {
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		conn = tls.Server(conn, secure)
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
}

// certificate is that of target.example, which is its own authority.
func certificate(t testing.TB) (*tls.Config, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"target.example"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, der
}
