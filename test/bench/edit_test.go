package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/backend"
	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// binary is bin/gatehouse, or what $GATEHOUSE_BIN names; built when it is not there.
func binary(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("GATEHOUSE_BIN"); path != "" {
		return path
	}
	path, err := rig.Build(tb.Context(), tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// start runs an instance over a shop with n routes, which share so many hosts, and
// waits until it serves; 0 gives each route its own.
func start(tb testing.TB, n, hosts int) (*shop, *rig.Instance) {
	tb.Helper()
	s, err := newShopOf(tb.Context(), tb.TempDir(), n, hosts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.close)
	return s, launch(tb, s)
}

// launch runs an instance over a shop and waits until it serves.
func launch(tb testing.TB, s *shop) *rig.Instance {
	tb.Helper()
	return launchIn(tb, s, tb.TempDir())
}

// launchIn is launch with a state directory and more arguments.
func launchIn(tb testing.TB, s *shop, stateDir string, args ...string) *rig.Instance {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 60*time.Second)
	defer cancel()
	instance, err := rig.Start(context.WithoutCancel(ctx), rig.Options{Binary: binary(tb), Config: []string{s.dir}, StateDir: stateDir, Args: args})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := instance.Stop(); err != nil {
			tb.Error(err)
		}
	})
	if err := instance.WaitReady(ctx); err != nil {
		tb.Fatalf("%v\n%s", err, instance.Output())
	}
	return instance
}

// report adds quantiles in milliseconds, and what one edit cost.
func report(b *testing.B, took []time.Duration, before, after map[string]float64) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(quantile(took, .5), "p50-ms")
	b.ReportMetric(quantile(took, .99), "p99-ms")
	b.ReportMetric(quantile(took, 1), "max-ms")
	for name, unit := range map[string]string{
		"gatehouse_functions_run_total":      "functions/edit",
		"gatehouse_xds_resources_sent_total": "resources/edit",
		"gatehouse_xds_bytes_sent_total":     "bytes/edit",
		"process_cpu_seconds_total":          "cpu-s/edit",
	} {
		b.ReportMetric((after[name]-before[name])/float64(len(took)), unit)
	}
	b.ReportMetric(after["process_resident_memory_bytes"]/(1<<20), "rss-MiB")
	b.ReportMetric(0, "ns/op")
}

const editsPerRun = 100

// BenchmarkRouteEdit measures one route edited among N, each with a host of its
// own: from the rename of its file to the first answer with the new mark.
func BenchmarkRouteEdit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) { routeEdit(b, n, 0) })
	}
}

// BenchmarkSharedHostEdit is BenchmarkRouteEdit where the routes share one host, or five.
func BenchmarkSharedHostEdit(b *testing.B) {
	for _, hosts := range []int{1, 5} {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("hosts=%d/N=%d", hosts, n), func(b *testing.B) { routeEdit(b, n, hosts) })
		}
	}
}

func routeEdit(b *testing.B, n, hosts int) {
	b.Helper()
	s, instance := start(b, n, hosts)
	run(b, instance, func(k int) (time.Duration, error) {
		i, mark := k%n, "m"+strconv.Itoa(k)
		host, path := s.at(i)
		r := rig.Request{Port: s.port, Host: host, Path: path}
		client := rig.NewClient(r)
		defer client.Close()
		if _, err := client.Do(b.Context(), r); err != nil {
			return 0, err
		}
		if err := s.route(i, "red", mark); err != nil {
			return 0, err
		}
		return seen(b.Context(), client, r, "red", mark)
	})
}

// run measures editsPerRun edits for each iteration, after a few to warm up.
func run(b *testing.B, instance *rig.Instance, edit func(k int) (time.Duration, error)) {
	b.Helper()
	k := 0
	once := func() time.Duration {
		k++
		took, err := edit(k)
		if err != nil {
			b.Fatalf("edit %d: %v\n%s", k, err, instance.Output())
		}
		return took
	}
	for range 5 {
		once()
	}
	before, err := counters(b.Context(), instance)
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		for range editsPerRun {
			took = append(took, once())
		}
	}
	after, err := counters(b.Context(), instance)
	if err != nil {
		b.Fatal(err)
	}
	report(b, took, before, after)
}

// BenchmarkEndpointChange measures one changed endpoint among N routes: from the
// rename of its file to the first answer of the new backend.
func BenchmarkEndpointChange(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			s, instance := start(b, n, 0)
			if err := s.endpoints(s.red.Addr); err != nil {
				b.Fatal(err)
			}
			if err := s.route(0, "moved", "fixed"); err != nil {
				b.Fatal(err)
			}
			r := rig.Request{Port: s.port, Host: hostOf(0)}
			client := rig.NewClient(r)
			b.Cleanup(client.Close)
			if _, err := seen(b.Context(), client, r, "red", "fixed"); err != nil {
				b.Fatal(err)
			}
			run(b, instance, func(k int) (time.Duration, error) {
				to := []*backend.HTTP{s.red, s.blue}[k%2]
				if err := s.endpoints(to.Addr); err != nil {
					return 0, err
				}
				return seen(b.Context(), client, r, to.Name, "fixed")
			})
		})
	}
}
