package load_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/load"
)

// BenchmarkRun says what a request costs the generator, and how late it is. The server
// is another process. An iteration lasts a second.
func BenchmarkRun(b *testing.B) {
	address := serverProcess(b)
	for _, rate := range []int{50, 200, 1000, load.MaxRate} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			var all []lab.Request
			before := cpu(b)
			for b.Loop() {
				requests, err := load.Run(b.Context(), load.Options{
					Address: address, Rate: rate, Length: 1000 * ms, Timeout: 5000 * ms, Clock: clock(),
				})
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, requests...)
			}
			spent := cpu(b) - before
			if answered := count(all)[lab.Answered]; answered != len(all) {
				b.Fatalf("%d of %d answered", answered, len(all))
			}
			account := lab.Account(all, nil, nil)
			b.ReportMetric(float64(spent.Microseconds())/float64(len(all)), "cpu-µs/request")
			b.ReportMetric(account.Lateness.P50.Seconds()*1e6, "late-p50-µs")
			b.ReportMetric(account.Lateness.P99.Seconds()*1e6, "late-p99-µs")
			b.ReportMetric(account.Latency.P50.Seconds()*1e6, "latency-p50-µs")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpu is what this process has spent.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// serverProcess starts this binary as a server, which ends with its standard input.
func serverProcess(b *testing.B) string {
	b.Helper()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), asServer+"=1")
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
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// serveAlone serves until standard input ends.
func serveAlone() {
	server := httptest.NewServer(http.HandlerFunc(backend))
	defer server.Close()
	fmt.Println(server.Listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}
