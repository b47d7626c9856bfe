package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gateway_v1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatehouse-proxy/gatehouse/internal/acceptance"
	"github.com/gatehouse-proxy/gatehouse/internal/snapshot"
	"github.com/gatehouse-proxy/gatehouse/pkg/store"
)

// crowd judges proposals among n objects, all accepted: a third each of routes with a
// host of their own, of Services and of EndpointSlices.
func crowd(tb testing.TB, n int) *Admitter {
	tb.Helper()
	l := New(Options{Graph: NewGraph(compileOptions, envoyOptions), Controller: controller, Now: time.Now, Metrics: newMetrics()})
	edits := []store.Edit{edit("GatewayClass", class()), edit("Gateway", edge("edge", 8080))}
	for i := range n / 3 {
		name := fmt.Sprint("s", i)
		edits = append(edits, edit("HTTPRoute", own(name)), edit("Service", service(name)), edit("EndpointSlice", endpointsOf(name, "10.0.0.1")))
	}
	observed := store.View{}.Apply(edits...)
	d := l.rules.Round(acceptance.Input{Observed: observed})
	if len(d.Rejected) > 0 {
		tb.Fatal(d.Rejected)
	}
	l.board.publish(&published{observed: observed, state: d.State, decided: true})
	return l.Admitter()
}

// own is a route with a host of its own.
func own(name string) *gateway_v1.HTTPRoute {
	r := route(name, name)
	r.Spec.Hostnames = []gateway_v1.Hostname{gateway_v1.Hostname(name + ".example")}
	return r
}

// tried are proposals of several kinds; i makes each another.
var tried = map[string]func(i int) snapshot.Object{
	"HTTPRoute": func(i int) snapshot.Object {
		r := own("s7")
		r.Spec.Rules[0].Matches[0].Path.Value = new(fmt.Sprint("/", i))
		return r
	},
	"BackendTLSPolicy": func(i int) snapshot.Object {
		return &gateway_v1.BackendTLSPolicy{ObjectMeta: named(fmt.Sprint("p", i)), Spec: gateway_v1.BackendTLSPolicySpec{
			TargetRefs: []gateway_v1.LocalPolicyTargetReferenceWithSectionName{{Kind: "Service", Name: "s7"}},
			Validation: gateway_v1.BackendTLSPolicyValidation{
				Hostname: "s7.example", WellKnownCACertificates: new(gateway_v1.WellKnownCACertificatesSystem),
			},
		}}
	},
	"Service": func(i int) snapshot.Object {
		s := service("s7")
		s.Spec.Ports[0].Port = int32(1000 + i%1000)
		return s
	},
	"Gateway": func(i int) snapshot.Object { return edge("edge", int32(9000+i%1000)) },
	"GatewayClass": func(i int) snapshot.Object {
		c := class()
		c.Annotations = map[string]string{"n": fmt.Sprint(i)}
		return c
	},
}

// TestWorkOfAdmission: a verdict costs the change, not the number of objects.
func TestWorkOfAdmission(t *testing.T) {
	work := func(n int, kind string) map[string]int {
		a := crowd(t, n)
		result, err := a.try(t.Context(), a.draftOf(a.board.current.Load(), propose(t, tried[kind](1))), nil)
		if err != nil || !result.Admitted() || result.Trials != 1 {
			t.Fatalf("%s: %v %+v after %d trials", kind, err, result.Refused, result.Trials)
		}
		return result.Work.Functions
	}
	for _, kind := range []string{"HTTPRoute", "BackendTLSPolicy", "Service"} {
		// above 256 hosts each is a resource of its own
		if diff := cmp.Diff(work(1200, kind), work(3000, kind)); diff != "" {
			t.Errorf("%s, functions run among 1,200 (-) and 3,000 (+):\n%s", kind, diff)
		}
	}
}

// BenchmarkAdmission asks about one object of a kind among 10,000, from its JSON to the
// verdict. Gateway and GatewayClass, on which everything rests, are for comparison.
func BenchmarkAdmission(b *testing.B) {
	a := crowd(b, 10_000)
	for kind, object := range tried {
		b.Run(kind, func(b *testing.B) {
			var took []time.Duration
			i := 0
			for b.Loop() {
				i++
				p := propose(b, object(i))
				a.budget.spent = nil
				began := time.Now()
				out, err := a.Admit(b.Context(), p)
				took = append(took, time.Since(began))
				if err != nil || !out.Admitted {
					b.Fatalf("%v %+v", err, out)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
