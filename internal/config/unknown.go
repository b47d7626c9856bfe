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
	var names, out []string
	for _, s := range all {
		names = append(names, s.Env)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		rest, ours := strings.CutPrefix(name, "GATEHOUSE_")
		if !ours || slices.Contains(names, name) {
			continue
		}
		if best, ok := spelling.Closest("GATEHOUSE_"+rest, names); ok && spelling.Distance(name, best) <= 2 {
			out = append(out, fmt.Sprintf("environment variable %s is no setting and has no effect; did you mean %s?", name, best))
		}
	}
	return out
}
