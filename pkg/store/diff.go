package store

import (
	"iter"
	"slices"
)

// Change is one difference between two Views. Old or New is nil where the key is absent.
type Change struct {
	Key
	Old, New any
}

// Diff yields the differences from a to b in key order: the values that are not
// [Identical]. It costs the differences, not the number of values: it looks up what
// was edited between a View and a recent ancestor, and compares the trees of others.
func Diff(a, b View) iter.Seq[Change] {
	if a == b {
		return func(func(Change) bool) {}
	}
	if keys, ok := changedBetween(a, b); ok {
		return diffKeys(a, b, keys)
	}
	return diffRoots(a, b)
}

// changedBetween returns every key that may differ, by the journal of the later View.
func changedBetween(a, b View) ([]Key, bool) {
	if a.Revision() > b.Revision() {
		a, b = b, a
	}
	keys, _, few := b.state().journal.since(a.state().identity)
	return keys, few
}

func diffKeys(a, b View, keys []Key) iter.Seq[Change] {
	slices.SortFunc(keys, Key.Compare)
	keys = slices.Compact(keys)
	return func(yield func(Change) bool) {
		for _, k := range keys {
			before, _ := a.Get(k)
			after, _ := b.Get(k)
			if !Identical(before, after) && !yield(Change{k, before, after}) {
				return
			}
		}
	}
}

func diffRoots(a, b View) iter.Seq[Change] {
	same := func(x, y Map[string, any]) bool { return x == y }
	return func(yield func(Change) bool) {
		for c := range DiffMaps(a.state().collections, b.state().collections, same) {
			for d := range DiffMaps(c.Old, c.New, Identical) {
				if !yield(Change{Key{c.Key, d.Key}, d.Old, d.New}) {
					return
				}
			}
		}
	}
}
