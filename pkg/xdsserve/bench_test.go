package xdsserve_test

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

// BenchmarkEnvoyAcknowledges measures Publish to the last ACK of a real Envoy that
// has n clusters with endpoints, and a table of 300 hosts or fewer.
func BenchmarkEnvoyAcknowledges(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		t := new(benchEnvoy)
		t.start(b, n)
		for name, change := range map[string]func(i int) xdsserve.Update{
			"endpoints": func(i int) xdsserve.Update { return set(eds(b, "c1", 1000+i%2)) },
			"cluster":   func(i int) xdsserve.Update { return set(cluster(b, fmt.Sprint("new", i), 1000)...) },
			"table":     func(i int) xdsserve.Update { return set(table(b, "t", t.clusters(300, i)...)) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					t.i++
					t.rig.settle(t.rig.Publish(change(t.i)), 1)
				}
			})
		}
	}
}

type benchEnvoy struct {
	rig *rig
	n   int
	i   int
}

func (e *benchEnvoy) start(b *testing.B, n int) {
	b.Helper()
	e.n = n
	var rs []xdsserve.Resource
	for i := range n {
		rs = append(rs, cluster(b, fmt.Sprint("c", i), 1000)...)
	}
	rs = append(rs, table(b, "t", e.clusters(300, 0)...), listener(b, "l", freePort(b), "t", "s"))
	e.rig, _ = oneEnvoy(b, xdsserve.Options{}, rs...)
}

// clusters returns up to k of the clusters, rotated by i.
func (e *benchEnvoy) clusters(k, i int) []string {
	var names []string
	for j := range min(k, e.n) {
		names = append(names, fmt.Sprint("c", (i+j)%e.n))
	}
	return names
}
