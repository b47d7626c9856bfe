package envoy_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/envoy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

func TestMain(m *testing.M) {
	os.Exit(proxytest.Main(m, map[string]proxytest.Role{envoy.ServeCommand[0]: serve}))
}

// serve plays "gatehouse lab serve-endpoints SOCKET".
func serve(ctx context.Context, args []string) int {
	if err := envoy.ServeEndpoints(ctx, args[len(args)-1], os.Stdin, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func TestFile(t *testing.T) {
	proxytest.Contract(t, envoy.File(), func(o *proxy.Options, program string) { o.Program = program })
}

func TestXDS(t *testing.T) {
	proxytest.Contract(t, envoy.XDS(), func(o *proxy.Options, program string) { o.Gatehouse = program })
}

// TestRetries: Envoy retries nothing by itself.
func TestRetries(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprintf("off=%t", off), func(t *testing.T) {
			if f := proxytest.HalfDead(t, envoy.File(), off); f.Failed == 0 || f.Answered == 0 || f.MostTries != 1 {
				t.Errorf("%+v, want that some fail and all are tried once", f)
			}
		})
	}
}

// TestServerEnds: without its endpoint server an Envoy is not told of changes, so the
// leg is over.
func TestServerEnds(t *testing.T) {
	l := proxytest.Start(t, envoy.XDS(), proxytest.Options(t, envoy.XDS()))
	if err := unix.Kill(l.Processes()[1], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Exited():
	case <-time.After(20 * time.Second):
		t.Fatal("Exited is not closed")
	}
	if how := l.Ended(); how == nil || !strings.HasPrefix(how.Error(), "the endpoint server (gatehouse lab serve-endpoints) ended with signal: killed") {
		t.Errorf("it says that it ended as %v, want that the endpoint server was killed", how)
	}
	proxytest.Until(t, func(ctx context.Context) error {
		err := l.Update(ctx, nil)
		if err == nil || !strings.Contains(err.Error(), "endpoint server") {
			return fmt.Errorf("update: error %w, want that the endpoint server ended", err)
		}
		return nil
	})
}

func BenchmarkFile(b *testing.B) { proxytest.Benchmark(b, envoy.File(), 3, 50) }

func BenchmarkXDS(b *testing.B) { proxytest.Benchmark(b, envoy.XDS(), 3, 50) }
