package config

import (
	"fmt"
	"slices"
	"strings"
)

// later are variables of features that do not exist yet, and the values that ask for nothing.
var later = []struct {
	name, remedy string
	nothing      []string
}{
	{"TLS_SECRET_NAME", "mount the Secret and name TLS_CERT_FILE and TLS_KEY_FILE", nil},
}

// notYet refuses what would have no effect although it was asked for.
func notYet(env map[string]string) []error {
	var errs []error
	for _, v := range later {
		if value := env[v.name]; value != "" && !slices.Contains(v.nothing, strings.ToLower(value)) {
			errs = append(errs, &Error{From: "$" + v.name, Value: value, Problem: "is not available yet; " + v.remedy})
		}
	}
	return errs
}

// Older switches that only say yes: true is what is done anyway, or by the newer switch,
// and false asks for nothing.
const (
	oldEnabled    = "POSTGRESQL_PROXY_ENABLED"
	oldSelfSigned = "TLS_ENABLE_SELF_SIGNED"
)

// olderSwitches reads them. The newer switch wins where it is a flag.
func (p *postgresGiven) olderSwitches(env map[string]string, given []Given) []error {
	var errs []error
	for _, name := range []string{oldEnabled, oldSelfSigned} {
		if env[name] == "" {
			continue
		}
		var on bool
		if err := setSwitch(&on, []string{env[name]}); err != nil {
			errs = append(errs, &Error{From: "$" + name, Value: env[name], Problem: err.Error()})
		}
		flag := slices.ContainsFunc(given, func(g Given) bool { return g.From == "--tls-auto-generate" })
		if on && name == oldSelfSigned && !flag {
			p.autoGenerate = true
		}
	}
	return errs
}

// shadowed warns of variables that another one of the same meaning wins over.
func shadowed(all []*setting, env map[string]string, given []Given) []string {
	var out []string
	for _, s := range all {
		names := s.given(env)
		i := slices.IndexFunc(given, func(g Given) bool { return g.Key == s.Key })
		if i < 0 || len(names) < 2 || given[i].From != "$"+names[0] || env[names[0]] == env[names[1]] {
			continue
		}
		out = append(out, fmt.Sprintf("environment variable %s has no effect: %s is set too, and wins; unset one of them", names[1], names[0]))
	}
	return out
}

// leastTold is the length of the shortest name that others are said to be misspelt of:
// shorter ones are close to variables of other programs.
const leastTold = 10

// unusedVariables warns of variables that look like misspelt settings.
func unusedVariables(env map[string]string, all []*setting) []string {
	names := []string{oldEnabled, oldSelfSigned}
	for _, s := range all {
		for _, name := range []string{s.Older, s.Env} {
			if len(name) >= leastTold {
				names = append(names, name)
			}
		}
	}
	return misspelt(env, names, func(string) bool { return true })
}
