package report

import (
	"iter"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// moments yields the events of each moment in order. Where a belief changes without
// any event, as when a policy reloads, it yields a reload.
func moments(line lab.Timeline, belief []lab.BackendSpan) iter.Seq2[[]lab.Event, lab.Moment] {
	all := append(slices.Clone(line.Events), silentReloads(line, belief)...)
	slices.SortStableFunc(all, func(a, b lab.Event) int { return int(a.At - b.At) })
	return func(yield func([]lab.Event, lab.Moment) bool) {
		for len(all) > 0 {
			n := 1
			for n < len(all) && all[n].At == all[0].At {
				n++
			}
			if !yield(all[:n], all[0].At) {
				return
			}
			all = all[n:]
		}
	}
}

func silentReloads(line lab.Timeline, belief []lab.BackendSpan) []lab.Event {
	known := make(map[lab.Moment]bool)
	for _, e := range line.Events {
		known[e.At] = true
	}
	for _, s := range belief {
		if s.Partly { // its end is that of old workers
			known[s.To] = true
		}
	}
	var out []lab.Event
	for _, s := range belief {
		for _, at := range []lab.Moment{s.From, s.To} {
			if at < line.Length && !known[at] { // all spans end with the run
				known[at] = true
				out = append(out, lab.Event{At: at, Kind: lab.Reload})
			}
		}
	}
	return out
}
