package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// LoadedPostgres is a configuration of the router and where it came from.
type LoadedPostgres struct {
	Postgres Postgres
	// Warnings are settings that work and that an operator should look at, a line each.
	Warnings []string
	// Given are the settings that are not defaults, in order of the reference.
	Given []Given
}

// LoadPostgres takes every setting of the router from the first source that has it
// (flag, environment, default), and validates all of them once. Source.File is not
// looked at. The error is an Errors with everything that is wrong.
func LoadPostgres(src Source) (LoadedPostgres, error) {
	var p postgresGiven
	all := postgresSettings(&p)
	env := environment(src.Environ)
	given, errs := assign(all, src, env, nil)
	for _, err := range errs {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Field = "" // there is no file that had a key
		}
	}
	if src.Only == nil {
		errs = append(errs, p.olderSwitches(env, given)...)
	}
	if len(errs) > 0 {
		return LoadedPostgres{}, Errors(errs)
	}
	c := postgresCheck{postgresGiven: &p, src: src, given: given}
	c.settle()
	c.discovery()
	c.limits()
	c.admin()
	c.listeners()
	c.passThrough()
	c.certificate()
	c.serverTLS()
	c.proxyProtocol()
	c.cancelPeers()
	if len(c.errs) > 0 {
		return LoadedPostgres{}, Errors(c.errs)
	}
	out := LoadedPostgres{Postgres: p.Postgres, Warnings: c.warnings, Given: given}
	if src.Only == nil {
		out.Warnings = slices.Concat(out.Warnings, shadowed(all, env, given), unusedVariables(env, all))
	}
	return out, nil
}

// postgresCheck looks at settings that only make sense together.
type postgresCheck struct {
	*postgresGiven
	src      Source
	given    []Given
	errs     []error
	warnings []string
}

// fail and warn name where a setting was given, or where it could be.
func (c *postgresCheck) fail(key, value, problem string) {
	c.errs = append(c.errs, &Error{From: c.from(key), Value: value, Problem: problem})
}

func (c *postgresCheck) warn(key, problem string) {
	c.warnings = append(c.warnings, c.from(key)+" "+problem)
}

func (c *postgresCheck) from(key string) string {
	for _, g := range c.given {
		if g.Key == key {
			return g.From
		}
	}
	flag := kebab(key)
	return "--" + flag + " or $" + variable(flag)
}

// settle fills what depends on other settings.
func (c *postgresCheck) settle() {
	if c.Runtime == "" {
		c.Runtime = detectRuntime(onDisk)
	}
	c.ListenAddress = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	switch {
	case c.listenAddress != "":
		c.ListenAddress = netip.MustParseAddr(c.listenAddress)
	case c.Runtime != RuntimeVM:
		c.ListenAddress = netip.IPv4Unspecified()
	}
	c.DialTimeout = time.Duration(c.dialSeconds) * time.Second
	c.TLS.RenewalThreshold = time.Duration(c.renewalDays) * 24 * time.Hour
	if c.TLS.Mode == "" {
		c.TLS.Mode = c.detectTLSMode()
	}
}

func (c *postgresCheck) listeners() {
	if c.Port == c.HealthPort && c.Port != 0 {
		c.fail("healthServerPort", fmt.Sprint(c.HealthPort), "is also the port for clients; give each its own")
	}
	for _, b := range c.Backends {
		if strings.Contains(b.Deployment, ".") || b.Deployment == "pool" && !b.Pooled {
			c.warn("staticBackends", fmt.Sprintf("has deployment %q, which no login can name; clients can by options or host name only", b.Deployment))
		}
	}
}
