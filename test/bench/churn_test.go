package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/test/rig"
)

// churnRoutes is how many routes the edits under load are made among.
const churnRoutes = 50

// TestEditsUnderLoad makes edits of every kind under load: no request may fail
// or meet anything but the old or the new intent while the edit is on its way,
// and anything but the new one afterwards.
func TestEditsUnderLoad(t *testing.T) {
	sent, faults := editsUnderLoad(t, churnRoutes, 60, 300)
	if len(faults) > 0 {
		t.Errorf("%d of %d requests failed or were misrouted:\n%s", len(faults), sent, strings.Join(faults[:min(len(faults), maxFaults)], "\n"))
	}
	if sent < 60 {
		t.Errorf("only %d requests were sent", sent)
	}
}

// BenchmarkEditsUnderLoad makes edits under load and reports the requests that
// failed or were misrouted: a table as a whole, and one that is looked up by host.
func BenchmarkEditsUnderLoad(b *testing.B) {
	for _, size := range []struct{ routes, edits, rate int }{{churnRoutes, 500, 300}, {3000, 1000, 500}} {
		b.Run(fmt.Sprintf("N=%d", size.routes), func(b *testing.B) {
			for b.Loop() {
				sent, faults := editsUnderLoad(b, size.routes, size.edits, size.rate)
				b.ReportMetric(float64(len(faults)), "faults")
				b.ReportMetric(float64(sent), "requests")
				b.ReportMetric(float64(size.edits), "edits")
				b.ReportMetric(0, "ns/op")
				for _, f := range faults[:min(len(faults), maxFaults)] {
					b.Log(f)
				}
			}
		})
	}
}

func editsUnderLoad(tb testing.TB, routes, edits, rate int) (sent int, faults []string) {
	tb.Helper()
	c, err := newChurn(tb.Context(), tb.TempDir(), routes)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.close)
	instance := launch(tb, c.shop)
	l := &load{intents: c.intents, requests: c.requests(churnRoutes), rate: rate}
	ctx, stop := context.WithTimeout(tb.Context(), 10*time.Minute)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx) })
	for k := range edits {
		if err := c.edit(ctx, k, churnRoutes); err != nil {
			stop()
			running.Wait()
			tb.Fatalf("edit %d: %v\n%s", k, err, tail(instance))
		}
	}
	stop()
	running.Wait()
	return l.result()
}

func tail(i *rig.Instance) string {
	out := i.Output()
	return out[max(0, len(out)-4000):]
}
