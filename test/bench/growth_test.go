package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// BenchmarkGrowth makes 10,000 edits among 300 routes, of which every second one
// makes a route of a new name and removes the last one, and reports how much more
// memory is in use than after the first 1,000.
func BenchmarkGrowth(b *testing.B) {
	const edits, routes = 10_000, 300
	for b.Loop() {
		s, instance := start(b, routes, 0)
		var settled map[string]float64
		for k := range edits {
			if err := s.alternate(b.Context(), k, routes); err != nil {
				b.Fatalf("edit %d: %v\n%s", k, err, tail(instance))
			}
			if k == edits/10 {
				settled = inUse(b, instance)
			}
		}
		after := inUse(b, instance)
		b.ReportMetric((after["go_memstats_heap_alloc_bytes"]-settled["go_memstats_heap_alloc_bytes"])/(1<<20), "heap-growth-MiB")
		b.ReportMetric(after["go_memstats_heap_alloc_bytes"]/(1<<20), "heap-MiB")
		b.ReportMetric((after["process_resident_memory_bytes"]-settled["process_resident_memory_bytes"])/(1<<20), "rss-growth-MiB")
		b.ReportMetric(after["go_goroutines"]-settled["go_goroutines"], "goroutine-growth")
		b.ReportMetric(after["process_open_fds"]-settled["process_open_fds"], "fd-growth")
		b.ReportMetric(0, "ns/op")
	}
}

// alternate edits a route, or lets one come and the last one go.
func (s *shop) alternate(ctx context.Context, k, routes int) error {
	i, mark := k/2%routes, "m"+strconv.Itoa(k)
	if k%2 == 1 {
		i = routes + k
		if err := os.Remove(s.file(i - 2)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	if err := s.route(i, "red", mark); err != nil {
		return err
	}
	r := rig.Request{Port: s.port, Host: hostOf(i)}
	client := rig.NewClient(r)
	defer client.Close()
	_, err := seen(ctx, client, r, "red", mark)
	return err
}

func (s *shop) file(i int) string { return filepath.Join(s.dir, fmt.Sprintf("route-%d.yaml", i)) }

// inUse reads the instance's metrics after it has collected its garbage.
func inUse(b *testing.B, i *rig.Instance) map[string]float64 {
	b.Helper()
	if _, err := fetch(b.Context(), "http://"+i.Admin+"/debug/pprof/heap?gc=1"); err != nil {
		b.Fatal(err)
	}
	out, err := counters(b.Context(), i)
	if err != nil {
		b.Fatal(err)
	}
	return out
}
