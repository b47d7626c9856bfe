package reporttest

import (
	"cmp"
	"slices"

	"github.com/gatehouse-proxy/gatehouse/internal/lab"
)

// serving is the truth, and the grace after it.
func serving(line lab.Timeline) (spans []lab.BackendSpan) {
	for _, backend := range backends(line) {
		s := lab.BackendSpan{Backend: backend, To: line.Length}
		for _, e := range line.Events {
			switch {
			case e.Backend != backend:
			case e.Kind == lab.Add:
				s.From = e.At
			case s.To == line.Length:
				s.To = e.At + e.Grace
			}
		}
		spans = append(spans, s)
	}
	return spans
}

// load plays the clients: each request goes round robin to what is believed, as often
// as the proxy tries.
func load(line lab.Timeline, p lab.Proxy, by rules) lab.Requests {
	var requests []lab.Request
	var inVain []lab.TryInVain
	vanished := endings(line)
	turn := 0
	for i := range int(line.Length.Seconds() * float64(by.rate)) {
		due := at(float64(i) / float64(by.rate))
		r := lab.Request{ID: uint64(i + 1), Due: due, Sent: due, Done: due + at(0.002), Outcome: lab.Status, Code: 503}
		if by.dies > 0 && due >= by.dies {
			r.Outcome, r.Code = lab.Refused, 0
		}
		believed := lab.At(p.Belief, due)
		for r.Attempts < by.tries && len(believed) > 0 {
			backend := believed[turn%len(believed)]
			turn++
			r.Attempts++
			if holds(p.Serving, backend, due) {
				r.Outcome, r.Code, r.Backend = lab.Answered, 200, backend
				break
			}
			inVain = append(inVain, lab.TryInVain{At: r.Done, Backend: backend, Refused: !vanished[backend]})
			r.Outcome, r.Code = lab.Status, 502
			if vanished[backend] {
				r.Outcome, r.Code, r.Done = lab.TimedOut, 0, due+by.patience
				break
			}
		}
		requests = append(requests, r)
	}
	slices.SortStableFunc(inVain, func(a, b lab.TryInVain) int { return cmp.Compare(a.At, b.At) })
	return lab.Account(requests, p.Truth, inVain)
}

func endings(line lab.Timeline) map[string]bool {
	vanished := map[string]bool{}
	for _, e := range line.Events {
		if e.End == lab.Vanish {
			vanished[e.Backend] = true
		}
	}
	return vanished
}

func holds(spans []lab.BackendSpan, backend string, m lab.Moment) bool {
	return slices.ContainsFunc(spans, func(s lab.BackendSpan) bool { return s.Backend == backend && s.Contains(m) })
}
