package redis_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease"
	"github.com/gatehouse-proxy/gatehouse/internal/fleet/lease/redis"
	"github.com/gatehouse-proxy/gatehouse/test/fleet/redis/server"
)

// BenchmarkRedis is the workload of docs/benchmarks.md over a server on the same machine:
// 1,000 proxies of capacity 10, 20 selectors, 50 targets, 5 % of the pairs of proxy and
// target cooling, 32 clients, each pair an acquire and a release. It reports the
// processor time of either side for each pair.
func BenchmarkRedis(b *testing.B) {
	for _, program := range server.Programs {
		b.Run(string(program), func(b *testing.B) {
			s := server.Start(b, server.Options{Program: program, Args: []string{"--appendonly", "yes"}})
			benchmark(b, s, open(b, s, redis.Options{}, url.Values{}))
		})
	}
}

func benchmark(b *testing.B, s *server.Server, store *redis.Store) {
	fill(b, store)
	served, asked := serverTime(b, s), clientTime(b)
	var clients atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := int(clients.Add(1)) * 7919; pb.Next(); i++ {
			got, err := store.Acquire(b.Context(), request(i))
			if err == nil {
				err = store.Release(b.Context(), got.ID)
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
	b.ReportMetric(float64((serverTime(b, s)-served).Microseconds())/float64(b.N), "µs-server/pair")
	b.ReportMetric(float64((clientTime(b)-asked).Microseconds())/float64(b.N), "µs-client/pair")
}

func request(i int) lease.Request {
	return lease.Request{
		Selector: lease.Selector{Attributes: map[string]string{"group": strconv.Itoa(i % 20)}},
		Target:   fmt.Sprintf("t%d.example", i%50), TTL: time.Minute,
	}
}

// fill tells of the proxies one by one: a new one is the fittest of its group, and so can
// be leased and reported about.
func fill(b *testing.B, store *redis.Store) {
	b.Helper()
	held := make([]lease.Lease, 1000)
	for i := range held {
		p := lease.Proxy{
			UID: strconv.Itoa(i), Namespace: "crawl", Name: fmt.Sprintf("p%d", i), LatencyMillis: int64(i * 31 % 97), Healthy: true,
			Capacity: 10, Attributes: map[string]string{"group": strconv.Itoa(i % 20)},
		}
		if err := store.Set(b.Context(), p); err != nil {
			b.Fatal(err)
		}
		got, err := store.Acquire(b.Context(), lease.Request{Selector: request(i).Selector, TTL: time.Hour})
		if err != nil || got.Proxy.UID != p.UID {
			b.Fatalf("%s: %+v, %v", p.UID, got, err)
		}
		for target := range 50 {
			if (i/20*7+i+target)%20 != 0 {
				continue
			}
			if err := store.Report(b.Context(), got.ID, lease.Banned, fmt.Sprintf("t%d.example", target)); err != nil {
				b.Fatal(err)
			}
		}
		held[i] = got
	}
	for _, l := range held {
		if err := store.Release(b.Context(), l.ID); err != nil {
			b.Fatal(err)
		}
	}
}

// serverTime is the processor time that the server has used.
func serverTime(b *testing.B, s *server.Server) (sum time.Duration) {
	b.Helper()
	info, err := s.Client().Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if key == "used_cpu_user" || key == "used_cpu_sys" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += time.Duration(seconds * float64(time.Second))
		}
	}
	return sum
}

// clientTime is that of this process.
func clientTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
