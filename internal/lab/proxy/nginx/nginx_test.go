package nginx_test

import (
	"os"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/nginx"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

func TestMain(m *testing.M) { os.Exit(proxytest.Main(m, nil)) }

func TestContract(t *testing.T) {
	proxytest.Contract(t, nginx.Describe(), func(o *proxy.Options, program string) { o.Program = program })
}

func BenchmarkReload(b *testing.B) { proxytest.Benchmark(b, nginx.Describe(), 3, 50) }
