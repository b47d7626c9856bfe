package lab

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// A group grows faster than the policy reloads, and shrinks at once.
const burst = `
reload: {interval: 1500ms, batch: 200ms}
steps:
- scale: {name: web, to: 2}
- {at: 2s, scale: {name: web, from: 2, to: 8, over: 2s}}
- {at: 5s, scale: {name: web, from: 8, to: 6, grace: 1s}}
`

// A reload comes after its batch and no sooner than the interval after the one before,
// so several changes share one; a stream is told of each.
func TestAutoscalingBurst(t *testing.T) {
	t.Parallel()
	r := playScript(t, burst, "7s", "nginx,haproxy-runtime,envoy-xds,gatehouse", "--check")
	for _, p := range r.Proxies {
		if len(p.Truth) != 8 {
			t.Errorf("%s: %d backends were routable, want 8", p.Name, len(p.Truth))
		}
		if last := len(p.Wrong.Windows) - 1; last < 0 || p.Wrong.Windows[last].To >= r.Timeline.Length {
			t.Errorf("%s is wrong during %v, want some and not the end", p.Name, p.Wrong.Windows)
		}
	}
	reloaded := named(t, r, "nginx")
	followsPolicy(t, r, reloaded)
	for _, name := range []string{"haproxy-runtime", "envoy-xds", "gatehouse"} {
		if told := named(t, r, name).Updates; told <= reloaded.Updates {
			t.Errorf("%s was told %d times and nginx %d times, want more", name, told, reloaded.Updates)
		}
	}
}

// followsPolicy checks by what it believed when a proxy can have been reloaded.
func followsPolicy(t *testing.T, r lab.Result, p lab.Proxy) {
	t.Helper()
	policy := r.Timeline.Reload
	reloads := map[lab.Moment]lab.Moment{} // when they show, and the first change that each brings
	for _, truth := range p.Truth {
		believed := spansOf(p.Belief, truth.Backend)
		if len(believed) == 0 {
			t.Errorf("%s never believed in %s", p.Name, truth.Backend)
			continue
		}
		shows := believed[0].From
		if change, known := reloads[shows]; !known || truth.From < change {
			reloads[shows] = truth.From
		}
	}
	began := slices.MinFunc(p.Truth, func(a, b lab.BackendSpan) int { return int(a.From - b.From) }).From + policy.Batch
	n := 0
	for _, shows := range slices.Sorted(maps.Keys(reloads)) {
		if wait := shows - reloads[shows]; wait < policy.Batch {
			t.Errorf("%s believed at %v in what came %v before, sooner than the batch", p.Name, shows.Seconds(), time.Duration(wait))
		}
		// Between two that show there was an interval at least, though not what each took.
		if earliest := began + lab.Moment(n)*policy.Interval; shows < earliest {
			t.Errorf("%s: reload %d shows at %v, sooner than %v, which the interval allows", p.Name, n+1, shows.Seconds(), earliest.Seconds())
		}
		n++
	}
	if most := 1 + int((r.Timeline.Length-began)/policy.Interval); n < 2 || n >= len(p.Truth) || p.Updates < n || p.Updates > most {
		t.Errorf("%s was told %d times, of which %d show %d backends; want at most %d, and several backends at one", p.Name, p.Updates, n, len(p.Truth), most)
	}
}
