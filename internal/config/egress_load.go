package config

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// LoadEgress takes every setting of a super-proxy from the first source that has it (flag,
// environment, default), and validates all of them once. Source.File is not looked at.
// The error is an Errors with everything that is wrong.
func LoadEgress(src Source) (LoadedEgress, error) {
	var e Egress
	all := egressSettings(&e)
	env := environment(src.Environ)
	given, errs := assign(all, src, env, nil)
	for _, err := range errs {
		if e, ok := errors.AsType[*Error](err); ok {
			e.Field = "" // there is no file that had a key
		}
	}
	c := egressCheck{Egress: &e, given: given, errs: errs}
	e.Token = env["DISCOVERY_TOKEN"]
	c.clients()
	c.files()
	c.distinct()
	var names []string
	for _, s := range all {
		names = append(names, s.Env)
	}
	c.warnings = append(c.warnings, misspelt(env, names, func(name string) bool { return strings.HasPrefix(name, "GATEHOUSE_EGRESS_") })...)
	if len(c.errs) > 0 {
		return LoadedEgress{}, Errors(c.errs)
	}
	return LoadedEgress{Egress: e, Warnings: c.warnings, Given: given}, nil
}

// egressCheck looks at settings that only make sense together.
type egressCheck struct {
	*Egress
	given    []Given
	errs     []error
	warnings []string
}

func (c *egressCheck) from(key string) string {
	for _, g := range c.given {
		if g.Key == key {
			return g.From
		}
	}
	return "--" + kebab(key)
}

func (c *egressCheck) fail(key, value, problem string) {
	c.errs = append(c.errs, &Error{From: c.from(key), Value: value, Problem: problem})
}

func (c *egressCheck) warn(key, problem string) {
	c.warnings = append(c.warnings, c.from(key)+" "+problem)
}

// clients refuses to serve everybody by accident, or at all where others reach it.
func (c *egressCheck) clients() {
	switch {
	case c.Tokens != "" && c.AllowUnauthenticated:
		c.warn("allowUnauthenticated", "has no effect: --tokens says who may use it")
		c.AllowUnauthenticated = false
	case c.Tokens != "", c.Listen == "":
	case !c.AllowUnauthenticated:
		c.fail("tokens", "", "is missing: name the file of those who may use it ('gatehouse egress token NAME' makes a line of it), or give --allow-unauthenticated on loopback")
	case !Loopback(c.Listen):
		c.fail("listen", c.Listen, "is reached by other machines, and --allow-unauthenticated would let them use the fleet: give --tokens, or listen on 127.0.0.1:3128")
	default:
		c.warn("allowUnauthenticated", fmt.Sprintf("lets everybody in who reaches %s: every user and every web page's request on this machine goes by the fleet; give --tokens", c.Listen))
	}
	if c.Listen != "" && !canListen(c.Listen) {
		c.fail("listen", c.Listen, "must have an IP address before the port, or none for all addresses, for example 127.0.0.1:3128")
	}
}

// canListen says whether the host of an address is one of this machine's, or all.
func canListen(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "" || host == "localhost" || net.ParseIP(host) != nil)
}

// files refuses what is not there.
func (c *egressCheck) files() {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		c.fail("tlsCert", c.TLSCert, "and --tls-key belong together: give both, or neither")
		return
	}
	for _, f := range []struct{ key, path string }{{"tokens", c.Tokens}, {"tlsCert", c.TLSCert}, {"tlsKey", c.TLSKey}} {
		if f.path != "" && !onDisk(f.path) {
			c.fail(f.key, f.path, "does not exist; name a file that does")
		}
	}
}

// distinct refuses one address for two listeners.
func (c *egressCheck) distinct() {
	taken := map[string]string{}
	for _, a := range []struct{ key, address string }{{"listen", c.Listen}, {"adminAddress", c.AdminAddress}, {"metricsAddress", c.MetricsAddress}} {
		_, port, _ := net.SplitHostPort(a.address)
		if other, twice := taken[a.address]; twice && port != "0" && a.address != "" {
			c.fail(a.key, a.address, "is also --"+kebab(other)+"; give each its own port")
		}
		taken[a.address] = a.key
	}
	if c.AdminAddress != "" && !Loopback(c.AdminAddress) {
		c.warn("adminAddress", fmt.Sprintf("%q is not a loopback address: everyone who can reach it reads the names of tokens and sessions without a password; use 127.0.0.1:19040 unless a firewall guards it", c.AdminAddress))
	}
}
