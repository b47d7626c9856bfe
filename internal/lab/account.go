package lab

import (
	"cmp"
	"slices"
	"time"
)

// Account sums up the requests of a run. Each of them is in exactly one class: law of
// [Requests]. truth is when each backend was routable, inVain are the tries in vain; both
// in any order, spans of one backend may touch or overlap. Nothing of it is changed.
//
// A request that was not answered by a backend is a failure. It is one that must be, a
// NoBackend, when no backend was routable at any moment from Due to Done, both included.
func Account(requests []Request, truth []BackendSpan, inVain []TryInVain) Requests {
	account := Requests{
		Due: len(requests), InVain: len(inVain),
		FailedBy: make(map[Outcome]int), TriesInVain: firstTries(inVain),
	}
	routable, some := stretchesByBackend(truth), stretchesOf(truth)
	var latencies, lateness []Moment
	var failures []Request
	for _, r := range requests {
		if r.Outcome != Unsent {
			lateness = append(lateness, r.Sent-r.Due)
		}
		switch {
		case r.Outcome == Unsent:
			account.Unsent++
		case r.Outcome == Answered:
			account.answered(r, routable[r.Backend].meets(r.Due, r.Done))
			latencies = append(latencies, r.Done-r.Due)
		case !some.meets(r.Due, r.Done):
			account.NoBackend++
		default:
			account.Failed++
			account.FailedBy[r.Outcome]++
			failures = append(failures, r)
		}
	}
	account.Latency, account.Lateness = QuantilesOf(latencies), QuantilesOf(lateness)
	account.Failures = firstFailures(failures)
	return account
}

// answered counts an answer of a backend, routable or not.
func (a *Requests) answered(r Request, routable bool) {
	if routable {
		a.Answered++
	} else {
		a.AnsweredByRemoved++
	}
	if r.Attempts > 1 {
		a.RetriedAway++
	}
}

// firstFailures takes over failures and returns the first of them, never nil.
func firstFailures(failures []Request) []Request {
	slices.SortFunc(failures, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.ID, b.ID))
	})
	return append([]Request{}, failures[:min(len(failures), MaxFailures)]...)
}

// firstTries returns the first of inVain, never nil.
func firstTries(inVain []TryInVain) []TryInVain {
	sorted := slices.SortedStableFunc(slices.Values(inVain), func(a, b TryInVain) int { return cmp.Compare(a.At, b.At) })
	return append([]TryInVain{}, sorted[:min(len(sorted), MaxFailures)]...)
}

// stretches are spans in order that neither are empty nor touch.
type stretches []Span

// stretchesByBackend joins the spans of each backend.
func stretchesByBackend(spans []BackendSpan) map[string]stretches {
	byBackend := make(map[string][]BackendSpan)
	for _, span := range spans {
		byBackend[span.Backend] = append(byBackend[span.Backend], span)
	}
	joined := make(map[string]stretches, len(byBackend))
	for backend, own := range byBackend {
		joined[backend] = stretchesOf(own)
	}
	return joined
}

// stretchesOf joins all spans, whichever backend they are of.
func stretchesOf(spans []BackendSpan) stretches {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b BackendSpan) int { return cmp.Compare(a.From, b.From) })
	var joined stretches
	for _, span := range sorted {
		last := len(joined) - 1
		switch {
		case span.From >= span.To:
		case last >= 0 && span.From <= joined[last].To:
			joined[last].To = max(joined[last].To, span.To)
		default:
			joined = append(joined, span.Span)
		}
	}
	return joined
}

// meets tells whether a moment from from to to, both included, is in one of s.
func (s stretches) meets(from, to Moment) bool {
	after, _ := slices.BinarySearchFunc(s, to, func(span Span, to Moment) int {
		if span.From <= to {
			return -1
		}
		return 1
	})
	// The last stretch that begins by then ends last of those that do.
	return from <= to && after > 0 && from < s[after-1].To
}

// Due returns how many requests of an open load are due before length is over: one at
// the start, and rate each second.
func Due(rate int, length Moment) int {
	const second = int64(time.Second)
	return int((int64(rate)*int64(length) + second - 1) / second)
}
