package schema

import "strings"

// closest returns the candidate that name is most likely a misspelling of, or "".
func closest(name string, candidates []string) string {
	best, bestDistance := "", 1+len(name)/3
	for _, c := range candidates {
		if strings.EqualFold(c, name) || len(name) >= 3 && strings.HasPrefix(c, name) {
			return c
		}
		if d := distance(name, c, bestDistance); d < bestDistance || (d == bestDistance && best == "") {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance counts the edits from a to b (insert, delete, replace, swap); it may
// return limit+1 for anything above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
