package proxytest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab/proxy"
)

// Benchmark measures how an update spreads: from the call of Update until all workers
// believe it, p50 and p99; what CPU an update takes of the processes that Processes
// names; and what one call of Belief takes, in time and in their CPU. It does so for
// several numbers of backends. One comes or goes with each update; none of them runs.
func Benchmark(b *testing.B, d proxy.Description, numbers ...int) {
	for _, backends := range numbers {
		b.Run(fmt.Sprintf("backends=%d", backends), func(b *testing.B) { measure(b, d, backends) })
	}
}

func measure(b *testing.B, d proxy.Description, backends int) {
	o := Options(b, d)
	o.Log = nil
	l := Start(b, d, o)
	sets := [2][]proxy.Backend{{}, {Backend(backends)}}
	for n := 1; n < backends; n++ {
		sets[0], sets[1] = append(sets[0], Backend(n)), append(sets[1], Backend(n))
	}
	l.spread(sets[0])
	var took []time.Duration
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		took = append(took, l.spread(sets[(i+1)%2]))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(milliseconds(took[len(took)/2]), "p50-ms")
	b.ReportMetric(milliseconds(took[len(took)*99/100]), "p99-ms")
	b.ReportMetric(milliseconds(l.updateCPU(sets)), "CPU-ms/update")
	wall, spent := l.beliefCost()
	b.ReportMetric(milliseconds(wall), "ms/belief")
	b.ReportMetric(milliseconds(spent), "CPU-ms/belief")
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// spread updates the proxy and asks until it believes it. It asks without a pause, so
// that no pause is part of the result.
func (l *Leg) spread(backends []proxy.Backend) time.Duration {
	l.t.Helper()
	want := addresses(backends)
	began := time.Now()
	must(l.t, l.Update(l.t.Context(), backends))
	for time.Since(began) < patience {
		got, err := l.Belief(l.t.Context())
		must(l.t, err)
		if slices.Equal(got.All, want) && slices.Equal(got.Some, want) {
			return time.Since(began)
		}
	}
	l.t.Fatalf("it does not believe an update after %s", patience)
	return 0
}

// updateCPU returns what an update takes above the calm rate, while nobody asks.
func (l *Leg) updateCPU(sets [2][]proxy.Backend) time.Duration {
	l.t.Helper()
	const updates, pace = 200, 20 * time.Millisecond
	during := func(do func(i int)) time.Duration {
		tick := time.NewTicker(pace)
		defer tick.Stop()
		before := cpu(l.t, l.Processes())
		for i := range updates {
			do(i)
			<-tick.C
		}
		return cpu(l.t, l.Processes()) - before
	}
	calm := during(func(int) {})
	busy := during(func(i int) { must(l.t, l.Update(l.t.Context(), sets[i%2])) })
	return (busy - calm) / updates
}

func (l *Leg) beliefCost() (wall, spent time.Duration) {
	l.t.Helper()
	const calls = 1000
	before, began := cpu(l.t, l.Processes()), time.Now()
	for range calls {
		_, err := l.Belief(l.t.Context())
		must(l.t, err)
	}
	return time.Since(began) / calls, (cpu(l.t, l.Processes()) - before) / calls
}
