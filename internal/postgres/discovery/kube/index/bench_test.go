package index_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/postgres/discovery/kube/index"
)

// cluster knows so many Services of three endpoints each.
func cluster(services int) *index.Index {
	x := index.New(options)
	x.Synced()
	for i := range services {
		s := service("db"+strconv.Itoa(i), 1, "deployment-id", "d"+strconv.Itoa(i))
		for _, name := range x.SetService(s).Fetch {
			x.Fetched(name, slicesOf(slice(s.Name, s.Name, at(i, 1), at(i, 2), at(i, 3))))
		}
	}
	return x
}

func at(i, n int) string { return fmt.Sprintf("10.%d.%d.%d", i>>8, i&255, n) }

// A session asks for its endpoint once, in the time of a look into two maps.
func TestResolveAllocatesNothing(t *testing.T) {
	x := cluster(100)
	if n := testing.AllocsPerRun(1000, func() { _, _ = x.Resolve("d77", false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A change costs what it is large, not what the cluster is.
func TestChangeCostsItsSize(t *testing.T) {
	cost := func(services int) float64 {
		x, i := cluster(services), 0
		down, up := slice("db7", "db7", at(7, 1)+"!", at(7, 2), at(7, 3)), slice("db7", "db7", at(7, 1), at(7, 2), at(7, 3))
		return testing.AllocsPerRun(1000, func() {
			if i++; i%2 == 0 {
				x.SetSlice(up)
				x.SetService(service("db7", 1, "deployment-id", "d7", "tls-passthrough", "true"))
			} else {
				x.SetSlice(down)
				x.SetService(service("db7", 1, "deployment-id", "d7"))
			}
		})
	}
	if small, large := cost(10), cost(3000); large > small {
		t.Errorf("%v allocations among 3000 Services, %v among 10", large, small)
	}
}

func BenchmarkResolve(b *testing.B) {
	x := cluster(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Resolve("d7777", false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolveInParallel(b *testing.B) {
	x := cluster(10_000)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := x.Resolve("d7777", false); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkChange(b *testing.B) {
	for _, services := range []int{100, 10_000} {
		b.Run(strconv.Itoa(services), func(b *testing.B) {
			x, i := cluster(services), 0
			down, up := slice("db7", "db7", at(7, 1)+"!", at(7, 2), at(7, 3)), slice("db7", "db7", at(7, 1), at(7, 2), at(7, 3))
			b.ReportAllocs()
			for b.Loop() {
				if i++; i%2 == 0 {
					x.SetSlice(up)
				} else {
					x.SetSlice(down)
				}
			}
		})
	}
}
