package gatehouse_test

import (
	"context"
	"os"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/cli"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/gatehouse"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

func TestMain(m *testing.M) {
	os.Exit(proxytest.Main(m, map[string]proxytest.Role{"run": run}))
}

// run makes the test binary the product's, with all of its command line.
func run(ctx context.Context, args []string) int {
	return cli.Main(ctx, cli.Process{Args: args, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ()})
}

func TestGatehouse(t *testing.T) {
	proxytest.Contract(t, gatehouse.Describe(), func(o *proxy.Options, program string) { o.Gatehouse = program })
}

func BenchmarkGatehouse(b *testing.B) { proxytest.Benchmark(b, gatehouse.Describe(), 10) }
