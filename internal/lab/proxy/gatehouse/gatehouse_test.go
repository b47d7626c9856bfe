package gatehouse_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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

// TestRetries: by default what a dead backend refuses is asked of another.
func TestRetries(t *testing.T) {
	t.Run("default", func(t *testing.T) {
		if f := proxytest.HalfDead(t, gatehouse.Describe(), false); f.Failed > 0 || f.RetriedAway == 0 || f.MostTries > 3 {
			t.Errorf("%+v, want some retried away, none failed, none tried more than 3 times", f)
		}
	})
	t.Run("off", func(t *testing.T) {
		if f := proxytest.HalfDead(t, gatehouse.Describe(), true); f.Failed == 0 || f.Answered == 0 || f.MostTries != 1 {
			t.Errorf("%+v, want that some fail and all are tried once", f)
		}
	})
}

// TestNextEnvoy: when its Envoy crashes Gatehouse starts another, which is asked then.
func TestNextEnvoy(t *testing.T) {
	l := proxytest.Start(t, gatehouse.Describe(), proxytest.Options(t, gatehouse.Describe()))
	one := proxytest.Backend(1)
	l.Run(one)
	l.Tell(one)
	l.Believes(one)
	var envoys int
	for pid, name := range proxytest.Processes(t) {
		if strings.HasSuffix(name, "(envoy)") {
			envoys++
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if envoys != 1 {
		t.Fatalf("%d Envoys run", envoys)
	}
	l.Believes(one)
	l.Reaches(one)
}

func BenchmarkGatehouse(b *testing.B) { proxytest.Benchmark(b, gatehouse.Describe(), 3, 50) }
