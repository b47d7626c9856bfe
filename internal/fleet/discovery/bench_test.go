package discovery_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/discovery"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
)

// What is measured: 1,000 proxies that carry 10 leases each, 20 selectors, 50 targets, 5 %
// of the pairs of proxy and target cooling down, 32 clients.
const (
	benchProxies, benchCapacity  = 1000, 10
	benchSelectors, benchTargets = 20, 50
	benchClients                 = 32
)

// benchServer is set in the process that answers.
const benchServer = "GATEHOUSE_BENCH_SERVER"

// benchProfile names a file for the profile of that process.
const benchProfile = "GATEHOUSE_BENCH_PROFILE"

// BenchmarkPairs acquires and releases leases through HTTP. The server is a process of its
// own, so that its time on the processor is told apart; both share the machine.
func BenchmarkPairs(b *testing.B) {
	s := startBench(b)
	var took [benchClients][]time.Duration
	b.ResetTimer()
	before := s.cpu(b)
	began := time.Now()
	var clients sync.WaitGroup
	for i := range benchClients {
		clients.Go(func() { took[i] = pairs(b, s.address, i, b.N/benchClients+1) })
	}
	clients.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took[:]...)))
	n := float64(len(all))
	b.ReportMetric(n/time.Since(began).Seconds(), "pairs/s")
	b.ReportMetric(float64((s.cpu(b)-before).Microseconds())/n, "server-cpu-µs/pair")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}

type bench struct {
	address string
	in      io.Writer
	out     *bufio.Reader
}

// startBench starts this program again as the server.
func startBench(b *testing.B) *bench {
	b.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), benchServer+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	s := &bench{in: in, out: bufio.NewReader(out)}
	s.address = s.line(b)
	return s
}

func (s *bench) line(b *testing.B) string {
	b.Helper()
	text, err := s.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(text)
}

// cpu is how long the server has been on the processor.
func (s *bench) cpu(b *testing.B) time.Duration {
	b.Helper()
	if _, err := io.WriteString(s.in, "cpu\n"); err != nil {
		b.Fatal(err)
	}
	d, err := time.ParseDuration(s.line(b))
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// answerBench is the process that answers, until its input ends; each line there asks for
// its time on the processor.
func answerBench() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if file := os.Getenv(benchProfile); file != "" {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	api, err := benchAPI(ctx)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go func() {
		defer stop()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			var used syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // never fails
			fmt.Println(time.Duration(used.Utime.Nano() + used.Stime.Nano()))
		}
	}()
	return api.Serve(ctx, l)
}

func benchAPI(ctx context.Context) (*discovery.API, error) {
	memory, known := lease.NewMemory(lease.Options{Now: time.Now}), book{}
	for i := range benchProxies {
		p := proxy(fmt.Sprintf("px-%04d", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250+1), "pool", strconv.Itoa(i%benchSelectors), "country", "de")
		p.Spec.Capacity.MaxLeases = benchCapacity
		o := offerOf(p)
		known[o.Lease.UID] = o
		if err := memory.Set(ctx, o.Lease); err != nil {
			return nil, err
		}
	}
	for i := range benchProxies * benchTargets / 20 {
		r := lease.Request{TTL: time.Minute, Target: target(i / benchSelectors), Selector: lease.Selector{Attributes: map[string]string{"pool": strconv.Itoa(i % benchSelectors)}}}
		l, err := memory.Acquire(ctx, r)
		if err != nil {
			return nil, err
		}
		if err := memory.Report(ctx, l.ID, lease.Banned, ""); err != nil {
			return nil, err
		}
		if err := memory.Release(ctx, l.ID); err != nil {
			return nil, err
		}
	}
	return discovery.New(discovery.Options{
		Store: lease.NewWaiting(memory, lease.WaitOptions{}), Book: known, Token: token, Now: time.Now,
		Log: slog.New(slog.DiscardHandler),
	}), nil
}

func target(i int) string { return fmt.Sprintf("shop-%d.example", i%benchTargets) }

// pairs acquires and releases n leases on one connection, and says how long each pair took.
func pairs(b *testing.B, address string, client, n int) []time.Duration {
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", address)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	took := make([]time.Duration, 0, n)
	for i := range n {
		began := time.Now()
		body := `{"selector":{"pool":"` + strconv.Itoa((i+client)%benchSelectors) + `"},"target":"` + target(i*7+client) + `"}`
		granted, err := exchange(conn, in, "POST /v1/leases", body)
		_, rest, found := bytes.Cut(granted, []byte(`"leaseID":"`))
		if err != nil || !found {
			b.Errorf("%s: %v", granted, err)
			return nil
		}
		if _, err := exchange(conn, in, "DELETE /v1/leases/"+string(rest[:32]), ""); err != nil {
			b.Error(err)
			return nil
		}
		took = append(took, time.Since(began))
	}
	return took
}

// exchange is a client of HTTP that costs as little as can be.
func exchange(conn net.Conn, in *bufio.Reader, ask, body string) ([]byte, error) {
	head := ask + " HTTP/1.1\r\nHost: fleet.example\r\nAuthorization: Bearer " + token + "\r\n"
	if body != "" {
		head += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"+body); err != nil {
		return nil, err
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(text)))
		}
		if len(line) == 2 {
			break
		}
	}
	answer := make([]byte, length)
	_, err := io.ReadFull(in, answer)
	return answer, err
}
