package config

import (
	"fmt"
	"slices"
)

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
			p.TLS.AutoGenerate = true
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
	return misspelt(env, names, func(name string) bool { return name != "SSL_CERT_FILE" }) // that of every program
}
