package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-proxy/gatehouse/pkg/spelling"
)

// unknownVariables warns of variables that look like misspelt settings.
func unknownVariables(env map[string]string, all []*setting) []string {
	ours := func(name string) bool { return strings.HasPrefix(name, "GATEHOUSE_") }
	var names []string
	for _, s := range all {
		names = append(names, s.Env)
	}
	return misspelt(env, names, ours)
}

// misspelt warns of variables that are close to one of the names.
func misspelt(env map[string]string, names []string, candidate func(name string) bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !candidate(name) || slices.Contains(names, name) {
			continue
		}
		if best, ok := spelling.Closest(name, names); ok && spelling.Distance(name, best) <= 2 {
			out = append(out, fmt.Sprintf("environment variable %s is no setting and has no effect; did you mean %s?", name, best))
		}
	}
	return out
}
