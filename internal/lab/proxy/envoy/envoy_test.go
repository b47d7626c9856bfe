package envoy_test

import (
	"context"
	"fmt"
	"os"
	"testing"

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

func BenchmarkFile(b *testing.B) { proxytest.Benchmark(b, envoy.File(), 10) }

func BenchmarkXDS(b *testing.B) { proxytest.Benchmark(b, envoy.XDS(), 10) }
