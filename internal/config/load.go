package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Loaded is a configuration and where it came from.
type Loaded struct {
	Run Run
	// Warnings are settings that work and that an operator should look at, a line each.
	Warnings []string
	// Given are the settings that are not defaults, in order of the reference.
	Given []Given
}

// Given is one setting that a user gave.
type Given struct {
	Key, Value, From string
}

// Load takes every setting from the first source that has it (flag, environment,
// file, default), and validates all of them once. The error is an Errors with
// everything that is wrong.
func Load(src Source) (Loaded, error) {
	var out Loaded
	all := settings(&out.Run)
	env := environment(src.Environ)
	values, errs := readFile(src.File, all)
	given, wrong := assign(all, src, env, values)
	out.Given, errs = given, append(errs, wrong...)
	if len(errs) > 0 {
		return Loaded{}, Errors(errs)
	}
	errs = append(out.Run.crossCheck(), out.readValidators()...)
	if src.Watch {
		errs = append(errs, out.checkPaths()...)
	}
	if len(errs) > 0 {
		return Loaded{}, Errors(errs)
	}
	out.Warnings = append(unknownVariables(env, all), out.Run.warnings()...)
	return out, nil
}

// assign sets every setting from the first source that has it. It returns which were
// given, and all that is wrong.
func assign(all []*setting, src Source, env map[string]string, file map[string]raw) (given []Given, errs []error) {
	for _, s := range all {
		got := s.pick(src, env, file)
		value := strings.Join(got.values, ", ")
		if s.Hidden {
			value = withoutPassword(value)
		}
		if err := s.set(got.absolute()); err != nil {
			errs = append(errs, s.wrong(got, value, err)...)
		}
		if got.from != fromDefault {
			given = append(given, Given{Key: s.Key, Value: value, From: got.from})
		}
	}
	return given, errs
}

// withoutPassword is what may be shown of a value.
func withoutPassword(value string) string {
	u, err := url.Parse(value)
	if err != nil {
		return "(hidden)"
	}
	return u.Redacted()
}

// wrong says what is wrong with a setting: its value, or several parts of it.
func (s *setting) wrong(got raw, value string, err error) []error {
	parts, several := errors.AsType[Errors](err)
	if !several {
		return []error{&Error{From: got.from, Field: s.Key, Value: value, Problem: err.Error()}}
	}
	var out []error
	for _, part := range parts {
		out = append(out, &Error{From: got.from, Field: s.Key, Problem: part.Error()})
	}
	return out
}

// absolute returns the values with relative paths of a file put under its directory.
func (r raw) absolute() []string {
	if r.base == "" {
		return r.values
	}
	out := make([]string, len(r.values))
	for i, v := range r.values {
		out[i] = v
		if v != "" && !filepath.IsAbs(v) {
			out[i] = filepath.Join(r.base, v)
		}
	}
	return out
}

// crossCheck looks at settings that only make sense together.
func (r Run) crossCheck() []error {
	_, port, _ := net.SplitHostPort(r.AdminAddress)
	if r.AdminAddress == r.MetricsAddress && port != "0" {
		return []error{&Error{
			From: "settings", Field: "metricsAddress", Value: r.MetricsAddress,
			Problem: "is also adminAddress; give each its own port",
		}}
	}
	return nil
}

// checkPaths refuses paths that are not there: most likely they are misspelt.
func (l Loaded) checkPaths() []error {
	from := l.from("config", "--config")
	if len(l.Run.Paths) == 0 {
		return []error{&Error{From: from, Problem: "is missing: name the file or directory of Gateway API objects to serve"}}
	}
	var errs []error
	for _, path := range l.Run.Paths {
		if _, err := os.Stat(path); err != nil {
			problem := fmt.Sprintf("cannot be watched: %v; name an existing file or directory", errors.Unwrap(err))
			errs = append(errs, &Error{From: from, Field: "config", Value: path, Problem: problem})
		}
	}
	return errs
}

// from is where the value of a setting came from.
func (l Loaded) from(key, otherwise string) string {
	for _, g := range l.Given {
		if g.Key == key {
			return g.From
		}
	}
	return otherwise
}

func (r Run) warnings() []string {
	var out []string
	if !Loopback(r.AdminAddress) {
		out = append(out, fmt.Sprintf("adminAddress %q is not a loopback address: everyone who can reach it"+
			" reads the configuration and profiles without a password; use 127.0.0.1:19000 unless a firewall guards it", r.AdminAddress))
	}
	return out
}

// Loopback reports whether only this machine reaches an address of the form HOST:PORT.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func environment(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			out[name] = value
		}
	}
	return out
}
