//go:build !race

// The memory of a process under the race detector is not the relay's.

package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// idleSessions are as many as the memory of one is measured with.
const idleSessions = 1000

// idleCases are what an idle session may cost a process, in bytes of its
// resident memory, after it has carried a block each way.
var idleCases = []struct {
	name  string
	block int
	most  float64
}{
	{"tcp", 4 << 10, 16 << 10},
	{"tls", 4 << 10, 40 << 10},
	{"tcp", 256 << 10, 16 << 10},
	{"tls", 256 << 10, 40 << 10},     // crypto/tls keeps room for the largest record it has read,
	{"growing", 256 << 10, 56 << 10}, // which is up to twice as large if records grow
}

func TestIdleSessions(t *testing.T) {
	for _, c := range idleCases {
		t.Run(fmt.Sprintf("%s/%dKiB", c.name, c.block>>10), func(t *testing.T) {
			m := measureIdle(t, c.name, c.block)
			t.Logf("%.1f KiB resident, %.1f KiB live", m.resident/1024, m.live/1024)
			if m.resident > c.most {
				t.Errorf("%.0f bytes for each session, at most %.0f", m.resident, c.most)
			}
		})
	}
}

func BenchmarkIdleSession(b *testing.B) {
	for _, c := range idleCases {
		b.Run(fmt.Sprintf("%s/%dKiB", c.name, c.block>>10), func(b *testing.B) {
			for b.Loop() {
				m := measureIdle(b, c.name, c.block)
				b.ReportMetric(m.resident, "resident-B/session")
				b.ReportMetric(m.live, "live-B/session")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// memory is what one idle session costs.
type memory struct {
	resident float64 // bytes of resident memory, after a collection that returned what it could
	live     float64 // bytes of heap and stacks
}

// measureIdle has a process of its own relay idle sessions.
func measureIdle(t testing.TB, dress string, block int) memory {
	backend := start(t, func(_ context.Context, c *Conn) error {
		c.Admit()
		_, err := io.Copy(c, c)
		return err
	}, Limits{}, Watch{})
	child := startChild(t, dress, backend.address)
	child.open(t, 20, block) // what a process costs before there are sessions
	before := child.usage(t)
	child.open(t, idleSessions, block)
	after := child.usage(t)
	return memory{(after.resident - before.resident) / idleSessions, (after.live - before.live) / idleSessions}
}

// relayProcess is a child that relays.
type relayProcess struct {
	dress   string
	address string
	ask     io.Writer
	answers *bufio.Reader
}

func startChild(t testing.TB, dress, backend string) *relayProcess {
	t.Helper()
	child := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0]) // its standard input ends it
	child.Env = append(os.Environ(), roleVariable+"="+roleRelay, "PROXY_TEST_DRESS="+dress, "PROXY_TEST_BACKEND="+backend)
	child.Stderr = os.Stderr
	ask, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = ask.Close()
		if err := child.Wait(); err != nil {
			t.Error(err)
		}
	})
	p := &relayProcess{dress: dress, ask: ask, answers: bufio.NewReader(out)}
	if _, err := fmt.Fscanln(p.answers, &p.address); err != nil {
		t.Fatal(err)
	}
	return p
}

// open makes sessions, each of which carries a block each way, and keeps them.
func (p *relayProcess) open(t testing.TB, sessions, block int) {
	t.Helper()
	for range sessions {
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if p.dress != "tcp" {
			c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, DynamicRecordSizingDisabled: p.dress == "tls"})
		}
		var trip sync.WaitGroup
		trip.Go(func() { _, err = c.Write(make([]byte, block)) })
		_, err2 := io.CopyN(io.Discard, c, int64(block))
		if trip.Wait(); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
	}
}

func (p *relayProcess) usage(t testing.TB) (m memory) {
	t.Helper()
	_, err := fmt.Fprintln(p.ask, "usage")
	if _, err2 := fmt.Fscanln(p.answers, &m.resident, &m.live); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return m
}

const roleRelay = "relay"

func init() { roles[roleRelay] = relayRole }

// relayRole is the child. It answers each line it reads with its memory.
func relayRole() int {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return failed(err)
	}
	config := serverTLS()
	backend, overTLS := os.Getenv("PROXY_TEST_BACKEND"), os.Getenv("PROXY_TEST_DRESS") != "tcp"
	s := NewServer(func(ctx context.Context, c *Conn) error {
		c.Admit()
		b, err := net.Dial("tcp", backend)
		if err != nil {
			return err
		}
		var a net.Conn = c
		if overTLS {
			a = tls.Server(c, config)
		}
		NewRelay(a, b, Options{}).Run(ctx)
		return nil
	}, Limits{}, Watch{})
	go func() { _ = s.Serve(context.Background(), ln) }()
	fmt.Println(ln.Addr())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		m, err := ownMemory()
		if err != nil {
			return failed(err)
		}
		fmt.Println(m.resident, m.live)
	}
	return 0
}

func ownMemory() (memory, error) {
	debug.FreeOSMemory()
	debug.FreeOSMemory() // what pools kept for one collection
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return memory{}, err
	}
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	_, err = fmt.Sscan(line, &kib)
	return memory{resident: kib * 1024, live: float64(stats.HeapAlloc + stats.StackInuse)}, err
}
