package haproxy_test

import (
	"os"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/haproxy"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy/proxytest"
)

func TestMain(m *testing.M) { os.Exit(proxytest.Main(m, nil)) }

func swap(o *proxy.Options, program string) { o.Program = program }

func TestReload(t *testing.T) { proxytest.Contract(t, haproxy.Reload(), swap) }

func TestRuntime(t *testing.T) { proxytest.Contract(t, haproxy.Runtime(), swap) }

// A socket that is too small for a burst loses lines of the log without a word.
func TestBurstOnReloads(t *testing.T) { proxytest.Burst(t, haproxy.Reload()) }

func TestBurstOnChanges(t *testing.T) { proxytest.Burst(t, haproxy.Runtime()) }

func BenchmarkReload(b *testing.B) { proxytest.Benchmark(b, haproxy.Reload(), 10) }

func BenchmarkRuntime(b *testing.B) { proxytest.Benchmark(b, haproxy.Runtime(), 10) }
