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
		errs = slices.Concat(errs, p.olderSwitches(env, given), notYet(env))
	}
	if len(errs) > 0 {
		return LoadedPostgres{}, Errors(errs)
	}
	c := postgresCheck{postgresGiven: &p, src: src, given: given}
	c.settle()
	c.discovery()
	c.limits()
	c.listeners()
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
		c.TLS.Mode = TLSMemory
		if c.TLS.CertFile != "" || c.TLS.KeyFile != "" {
			c.TLS.Mode = TLSFile
		}
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

// certificate checks what TLS needs.
func (c *postgresCheck) certificate() {
	files := []struct{ key, path string }{{"tlsCertFile", c.TLS.CertFile}, {"tlsKeyFile", c.TLS.KeyFile}}
	if !c.TLS.Enabled && c.TLS.Required {
		c.fail("tlsRequired", "true", "needs TLS, which TLS_ENABLED turns off; turn it on, or do not require it")
	}
	if c.TLS.Enabled && c.TLS.Mode == TLSMemory {
		c.inMemory()
	}
	for _, f := range files {
		switch {
		case f.path != "" && (!c.TLS.Enabled || c.TLS.Mode != TLSFile):
			c.warn(f.key, "has no effect: TLS is off, or its mode is memory")
		case !c.TLS.Enabled || c.TLS.Mode != TLSFile:
		case f.path == "":
			c.fail(f.key, "", "is missing: the mode of TLS is file, which needs a certificate and its key")
		case c.src.Watch:
			if err := checkReadable(f.path); err != nil {
				c.fail(f.key, f.path, err.Error())
			}
		}
	}
}

// inMemory refuses what would leave a router without a certificate.
func (c *postgresCheck) inMemory() {
	if !c.autoGenerate {
		c.fail("tlsAutoGenerate", "false", "leaves no certificate: name TLS_CERT_FILE and TLS_KEY_FILE, or turn TLS off with TLS_ENABLED=false")
	}
	if !c.autoRenew {
		c.fail("tlsAutoRenew", "false", "is not available: a certificate made in memory is always renewed; name TLS_CERT_FILE and TLS_KEY_FILE to care for one yourself")
	}
}
