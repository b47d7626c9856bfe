// Package spelling finds what a mistyped name was meant to be.
package spelling

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Distance is the number of edits from a to b: insert, delete or replace a byte,
// or swap two neighbours, each byte edited at most once (optimal string alignment).
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// Closest returns the candidate that name was most likely meant to be, whatever
// the case: at most a third of its bytes differ, or name begins it. Of equally
// close candidates the first wins.
func Closest(name string, candidates []string) (string, bool) {
	best, at := "", len(name)/3+1
	lower := strings.ToLower(name)
	for _, c := range candidates {
		other := strings.ToLower(c)
		d := Distance(lower, other)
		if len(name) >= 3 && strings.HasPrefix(other, lower) {
			d = 0
		}
		if d < at || d == 0 && best == "" {
			best, at = c, d
		}
	}
	return best, best != ""
}

// Nearest returns up to limit of the names that near accepts at their distance
// from name, nearest first, then in order.
func Nearest(name string, names iter.Seq[string], limit int, near func(candidate string, distance int) bool) []string {
	type found struct {
		name     string
		distance int
	}
	var all []found
	for candidate := range names {
		if d := Distance(name, candidate); near(candidate, d) {
			all = append(all, found{candidate, d})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	out := []string{}
	for _, f := range all[:min(limit, len(all))] {
		out = append(out, f.name)
	}
	return out
}
