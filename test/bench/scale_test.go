package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// sizes are tables on both sides of the threshold between the two kinds of lookup.
var sizes = []int{30, 300, 3000, 10000}

// BenchmarkRouteComes measures a route created among N, and BenchmarkRouteGoes one
// deleted: from the rename or removal of its file to the first answer that shows it.
func BenchmarkRouteComes(b *testing.B) { comesOrGoes(b, 200) }

func BenchmarkRouteGoes(b *testing.B) { comesOrGoes(b, 404) }

func comesOrGoes(b *testing.B, measured int) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			s, instance := start(b, n, 0)
			run(b, instance, func(k int) (time.Duration, error) {
				i := n + k%10
				r := rig.Request{Port: s.port, Host: hostOf(i)}
				client := rig.NewClient(r)
				defer client.Close()
				if err := s.route(i, "red", "new"); err != nil {
					return 0, err
				}
				came, err := status(b.Context(), client, r, 200)
				if err != nil {
					return 0, err
				}
				if err := os.Remove(s.file(i)); err != nil {
					return 0, err
				}
				went, err := status(b.Context(), client, r, 404)
				if measured == 200 {
					return came, err
				}
				return went, err
			})
		})
	}
}

// BenchmarkWildcardEdit measures a route with a wildcard host edited among N with
// exact ones.
func BenchmarkWildcardEdit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			s, instance := start(b, n, 0)
			run(b, instance, func(k int) (time.Duration, error) {
				mark := fmt.Sprint("w", k)
				r := rig.Request{Port: s.port, Host: "any.wild.example.com"}
				client := rig.NewClient(r)
				defer client.Close()
				if err := s.write("wild.yaml", fmt.Sprintf(routeYAML, 700_000, `"*.wild.example.com"`, mark, "red")); err != nil {
					return 0, err
				}
				return seen(b.Context(), client, r, "red", mark)
			})
		})
	}
}

// BenchmarkColdStart measures from the start of the process to the first answer of
// the last of N routes, and what Gatehouse and its Envoy took until then.
func BenchmarkColdStart(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			binary := binary(b)
			for b.Loop() {
				s, err := newShop(b.Context(), b.TempDir(), n)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(s.close)
				instance := coldStart(b, binary, s, n)
				after, err := counters(b.Context(), instance)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(after["process_cpu_seconds_total"], "cpu-s")
				b.ReportMetric(after["process_resident_memory_bytes"]/(1<<20), "rss-MiB")
				proxy, err := proxyUsage(instance.PID())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(proxy.cpu, "envoy-cpu-s")
				b.ReportMetric(proxy.rss, "envoy-rss-MiB")
				b.ReportMetric(0, "ns/op")
				if err := instance.Stop(); err != nil {
					b.Error(err)
				}
			}
		})
	}
}

// coldStart starts an instance over n routes and reports how long it took to the first
// answer of the last of them.
func coldStart(b *testing.B, binary string, s *shop, n int) *rig.Instance {
	b.Helper()
	began := time.Now()
	instance, err := rig.Start(b.Context(), rig.Options{Binary: binary, Config: []string{s.dir}, StateDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	took, err := firstAnswer(b.Context(), s, n-1, began)
	if err != nil {
		b.Fatalf("%v\n%s", err, instance.Output())
	}
	b.ReportMetric(float64(took.Milliseconds()), "first-answer-ms")
	return instance
}

// firstAnswer asks for a route until it is served, over whatever connection there is.
func firstAnswer(ctx context.Context, s *shop, i int, began time.Time) (time.Duration, error) {
	r := rig.Request{Port: s.port, Host: hostOf(i)}
	for time.Since(began) < time.Minute {
		if got, err := rig.Do(ctx, r); err == nil && got.Status == 200 {
			return time.Since(began), nil
		}
	}
	return 0, fmt.Errorf("%s is not served after a minute", r.Host)
}
