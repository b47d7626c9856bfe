package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
	"github.com/gatehouse-proxy/gatehouse/internal/lab/report"
)

const ms = lab.Moment(time.Millisecond)

// A load that was late is told of where it makes latencies other than the proxy's: from
// 20 ms, or a tenth of them, but not for the little that any machine is late.
func TestLateness(t *testing.T) {
	for _, c := range []struct {
		late, latency lab.Moment
		told          bool
	}{
		{late: 1 * ms, latency: 1 * ms},
		{late: 3 * ms, latency: 10 * ms},
		{late: 12 * ms, latency: 10 * ms, told: true},
		{late: 3 * ms, latency: 40 * ms},
		{late: 19 * ms, latency: 3000 * ms},
		{late: 21 * ms, latency: 3000 * ms, told: true},
	} {
		r := lab.Result{Proxies: []lab.Proxy{
			{Name: "model:stream"},
			{Name: "nginx", Requests: &lab.Requests{Lateness: lab.Quantiles{P99: c.late, Max: 676 * ms}, Latency: lab.Quantiles{P99: c.latency}}},
			{Name: "gatehouse", Requests: &lab.Requests{Latency: lab.Quantiles{P99: c.latency}}},
		}}
		if told := strings.Contains(strings.Join(report.Reading(r), " "), "up to 676 ms late (nginx): choose a lower --rate or fewer --proxies."); told != c.told {
			t.Errorf("%v late at a latency of %v: told is %t", c.late, c.latency, told)
		}
	}
}

func TestUnsent(t *testing.T) {
	r := lab.Result{Proxies: []lab.Proxy{
		{Name: "nginx", Requests: &lab.Requests{Due: 9, Unsent: 1}},
		{Name: "gatehouse", Requests: &lab.Requests{Due: 9}},
	}}
	if want := "1 request was never sent, for too many were waiting already (nginx): choose a lower --rate or --timeout."; !slices.Contains(report.Reading(r), want) {
		t.Errorf("%q lacks %q", report.Reading(r), want)
	}
}

// The resolution is that of the proxy whose windows are known worst, and none of models.
func TestResolution(t *testing.T) {
	r := lab.Result{Proxies: []lab.Proxy{{Name: "model:stream"}}}
	if got := report.Resolution(r); got != "" {
		t.Errorf("models are exact, but %q", got)
	}
	r.Proxies = append(r.Proxies, lab.Proxy{Resolution: lab.Quantiles{P50: 4 * ms, P99: 9 * ms}}, lab.Proxy{Resolution: lab.Quantiles{P50: 3 * ms, P99: 12 * ms}})
	note := "indows of real proxies are known to about 4 ms, one in a hundred only to 12 ms"
	if diff := cmp.Diff("w"+note, report.Resolution(r)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(pageOf(t, r), `<p class="soft">W`+note+".</p>") {
		t.Error("the page does not say the resolution")
	}
}
