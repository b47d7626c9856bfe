package lab

import (
	"slices"
	"time"
)

// QuantilesOf returns the quantiles of durations by nearest rank: of n durations in
// order, P50 is the one at place ceil(0.50 n) and P99 the one at place ceil(0.99 n),
// from 1. So each is a duration that was measured, and P99 of fewer than 100 is Max. It
// leaves durations as they are.
func QuantilesOf[D ~int64](durations []D) Quantiles {
	if len(durations) == 0 {
		return Quantiles{}
	}
	sorted := slices.Sorted(slices.Values(durations))
	at := func(percent int) Moment { return Moment(sorted[(percent*len(sorted)+99)/100-1]) }
	return Quantiles{P50: at(50), P99: at(99), Max: at(100)}
}

// StaleWindow returns the quantiles of how long the belief was wrong at a stretch:
// of the lengths of Windows. A proxy that was never wrong has zero ones.
func (w Wrong) StaleWindow() Quantiles {
	lengths := make([]time.Duration, len(w.Windows))
	for i, window := range w.Windows {
		lengths[i] = window.Length()
	}
	return QuantilesOf(lengths)
}

// At returns the names of the backends for which it held at m, sorted; spans are as
// [History] has them. What held for some workers or proxies only is among them. A span
// does not hold at its To any more: at the end of a run nothing does.
func At(spans []BackendSpan, m Moment) []string {
	names := []string{}
	for _, s := range spans {
		if s.From > m {
			break
		}
		if s.Contains(m) {
			names = append(names, s.Backend)
		}
	}
	slices.Sort(names)
	return names
}
