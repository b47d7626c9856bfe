package prover_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/internal/validator/prover"
	"github.com/gatehouse-proxy/gatehouse/pkg/xdsserve"
)

var sizes = []int{3_000, 10_000}

// large is a listener with n hosts, each with a cluster.
func large(n int) []xdsserve.Resource {
	out := []xdsserve.Resource{listener(edge, edge+"/80", "127.0.0.1", 80)}
	for i := range n {
		out = append(out, cluster(edge, named(i)), scope(edge, "80/"+named(i), virtualHost(named(i), "/x.*")))
	}
	return out
}

// BenchmarkTrial is one trial of one changed route: accepted, refused and back to what
// was accepted, or refused among a hundred good ones.
func BenchmarkTrial(b *testing.B) {
	for _, n := range sizes {
		r := newRig(b, prover.Options{})
		r.accepts(large(n)...)
		route := func(host, i int, expression string) xdsserve.Resource {
			return scope(edge, "80/"+named(host), virtualHost(named(host), fmt.Sprintf("/%d%s", i, expression)))
		}
		b.Run(fmt.Sprintf("%d/accepted", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				r.accepts(route(n/2, i, ".*"))
			}
		})
		b.Run(fmt.Sprintf("%d/refused", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				r.refuses(route(n/2, i, badExpression))
				r.accepts(route(n/3, i, ".*"))
			}
		})
		b.Run(fmt.Sprintf("%d/among100", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				many := []xdsserve.Resource{route(0, i, badExpression)}
				for k := 1; k <= 100; k++ {
					many = append(many, route(k, i, ".*"))
				}
				r.refuses(many...)
				r.accepts(many[1:]...)
			}
		})
		b.Logf("%d: the proving Envoy has %d MiB", n, resident(b, r)>>20)
	}
}

// BenchmarkCold is the trial of everything, by a proving Envoy that has just started.
func BenchmarkCold(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			all := large(n)
			for b.Loop() {
				b.StopTimer()
				r := newRig(b, prover.Options{})
				r.accepts(cluster(other, "first"))
				b.StartTimer()
				r.accepts(all...)
			}
		})
	}
}

// resident is how many bytes of memory the proving Envoy has.
func resident(b *testing.B, r *rig) int {
	pid, _ := r.Process()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(b, err)
	for line := range strings.Lines(string(text)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
