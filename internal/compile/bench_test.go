package compile

import (
	"fmt"
	"testing"

	"github.com/gatehouse-proxy/gatehouse/pkg/derive"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// BenchmarkOneEdit is the cost of one edit among n routes, objects already decoded.
func BenchmarkOneEdit(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		w := routes(b, n)
		for _, c := range []struct {
			name string
			a, b []store.Edit
		}{
			{"rule", decode(b, routeYAML(7, "/a", "s7")), decode(b, routeYAML(7, "/b", "s7"))},
			{"backend", decode(b, routeYAML(7, "/", "s8")), decode(b, routeYAML(7, "/", "s10"))},
			{"endpoint", decode(b, sliceYAML(7, "10.1.1.1")), decode(b, sliceYAML(7, "10.1.1.2"))},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					edit := c.a
					if i%2 == 1 {
						edit = c.b
					}
					w.view = w.view.Apply(edit...)
					w.state = w.graph.Eval(w.state, w.view).State
				}
			})
		}
	}
}

// BenchmarkFromNothing is the cost of the first evaluation of n routes with their
// Services, slices and Secrets.
func BenchmarkFromNothing(b *testing.B) {
	for _, n := range []int{300, 3000} {
		w := routes(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.graph.Eval(derive.State{}, w.view)
			}
		})
	}
}
