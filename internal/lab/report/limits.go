package report

import (
	"fmt"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// Resolution says how well the windows of real proxies are known: for each quantile,
// that of the proxy of which it is known worst. It is empty for models, which are exact.
func Resolution(r lab.Result) string {
	var worst lab.Quantiles
	for _, p := range r.Proxies {
		worst.P50 = max(worst.P50, p.Resolution.P50)
		worst.P99 = max(worst.P99, p.Resolution.P99)
	}
	if worst.P99 == 0 {
		return ""
	}
	return fmt.Sprintf("windows of real proxies are known to about %s, one in a hundred only to %s", Seconds(worst.P50), Seconds(worst.P99))
}

// Lateness above a tenth of the latency distorts it; below the first of these it is that
// of any machine, and above the second it is too much for any latency.
const (
	littleLate = lab.Moment(10 * time.Millisecond)
	muchLate   = lab.Moment(20 * time.Millisecond)
)

// late tells whether the latencies of r are those of the load as much as of the proxy.
func late(r lab.Requests) bool {
	return r.Lateness.P99 > min(max(r.Latency.P99/10, littleLate), muchLate)
}

// overload says where the load was more than the machine or the proxy could take.
func overload(r lab.Result) []string {
	var behind, full []lab.Proxy
	var most lab.Moment
	unsent := 0
	for _, p := range r.Proxies {
		if p.Requests == nil {
			continue
		}
		if late(*p.Requests) {
			behind, most = append(behind, p), max(most, p.Requests.Lateness.Max)
		}
		if p.Requests.Unsent > 0 {
			full, unsent = append(full, p), unsent+p.Requests.Unsent
		}
	}
	var out []string
	if len(behind) > 0 {
		out = append(out, fmt.Sprintf("The load could not keep up, so latencies are too long: requests were sent up to %s late (%s): choose a lower --rate or fewer --proxies.",
			Seconds(most), names(behind)))
	}
	if len(full) > 0 {
		out = append(out, fmt.Sprintf("%s never sent, for too many were waiting already (%s): choose a lower --rate or --timeout.",
			plural(unsent, "request was", "requests were"), names(full)))
	}
	return out
}
