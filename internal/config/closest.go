package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// closest returns the candidate that a name was most likely meant to be: at most
// a third of its letters differ.
func closest(name string, candidates []string) (string, bool) {
	best, at := "", len(name)/3+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < at {
			best, at = c, d
		}
	}
	return best, best != ""
}

// distance is the number of letters to insert, delete or replace (Levenshtein 1966).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// unknownVariables warns of variables that look like misspelt settings.
func unknownVariables(env map[string]string, all []*setting) []string {
	var names, out []string
	for _, s := range all {
		names = append(names, s.Env)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		rest, ours := strings.CutPrefix(name, "GATEHOUSE_")
		if !ours || slices.Contains(names, name) {
			continue
		}
		if best, ok := closest("GATEHOUSE_"+rest, names); ok && distance(name, best) <= 2 {
			out = append(out, fmt.Sprintf("environment variable %s is no setting and has no effect; did you mean %s?", name, best))
		}
	}
	return out
}
