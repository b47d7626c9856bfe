package compile

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// sortedMap yields a map in order of its keys.
func sortedMap[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// distinct returns the values in order, each once.
func distinct[T cmp.Ordered](values []T) []T {
	if len(values) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// inOrderOnce drops repetitions and keeps the order.
func inOrderOnce[T comparable](values []T) []T {
	var out []T
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
